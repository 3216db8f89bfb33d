/* Stands in for libnvidia-ml.so.1: what we call of it, for any number of GPUs.
 *
 * $NVML_STUB says how they behave, in statements with a `;` between them. A statement is
 *
 *     DEVICE FIELD VALUE [after N | when PATH]
 *
 * DEVICE is an index, `*` for all of them, or `system`. VALUE is a number, a word, or `error:N` for
 * an NVML error. It holds from the beginning, or after N power readings, or once a file exists. Of
 * several statements that hold, the last counts.
 *
 *     system   init (what nvmlInit returns), gpus (how many; 2)
 *     system   time (milliseconds since the epoch, in place of the clock)
 *     DEVICE   error (of all calls), hang (in any call), mig (instances), name (`_` for a space), memory (MiB), used,
 *              load (percent), temperature, power (mW), capability (`9.0`), cpus (a mask, in hex),
 *              xid (an event, sent once), sm_clock and memory_clock (MHz), max_sm_clock, reasons (the
 *              mask of clock events), headroom (degrees), generation and width (of its PCIe link),
 *              limit and default_limit (mW), slowdown (the degrees at which it slows down), energy (mJ), pids (`12,34`), fN (the field value N of NVML)
 *     DEVICE   watts LOW:HIGH:PERIOD:DUTY:DRIFT, averaged (ms; 1000)
 *
 * Compiled with -DDRIVER=470 it lacks what that driver lacks. Under the name libcuda.so.1 it tells
 * that driver's version to CUDA, and has nothing else of it.
 *
 * `watts` is a course of power from 0 on: HIGH for DUTY percent of each PERIOD (ms), else LOW, all of
 * it DRIFT W higher per second. The sensors then see of it what those of a GPU do: the energy counter
 * and `power` change every 100 ms, and `power` is the mean over the last milliseconds
 * (`averaged`): 1000 on an H100, 25 on an A100, which is a quarter of the time.
 */
#ifndef DRIVER
#define DRIVER 610
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6,
       INSUFFICIENT_SIZE = 7, TIMEOUT = 10 };
enum { LIMIT = 16, INSTANCES = 7, XID = 8, SM = 1, MEMORY = 2 };
enum { TICK = 100 }; /* ms, of the sensors of energy and power */

typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { int index, instance; } *Device; /* instance: -1 for the whole GPU */
typedef struct { char legacy[16]; unsigned domain, bus, device, id, subsystem; char bus_id[32]; } Pci;
typedef struct { Device device; unsigned long long type, data; unsigned gpu, compute; } Event;
typedef struct { unsigned id, scope; long long time, latency; int type, result; unsigned long long value; } Field;
typedef struct { unsigned pid; unsigned long long memory; unsigned gpu, compute; } Process;
typedef struct { unsigned version; int degrees; } Margin;

static struct { int index, instance; } devices[LIMIT][1 + INSTANCES];
static int sessions, readings, sent[LIMIT];

/* Finds the value of a field; `value` keeps what it holds if no statement is about it. */
static const char *find(const char *device, const char *field, char *value) {
  const char *script = getenv("NVML_STUB");
  while (script && *script) {
    char name[16] = "", key[32] = "", text[64] = "", when[8] = "", what[512] = "";
    int words = sscanf(script, " %15[^ ;] %31[^ ;] %63[^ ;] %7[^ ;] %511[^ ;]", name, key, text, when, what);
    int holds = words < 5 || (!strcmp(when, "after") ? readings >= atoi(what) : !access(what, F_OK));
    int fits = !strcmp(name, device) || (!strcmp(name, "*") && strcmp(device, "system"));
    if (words >= 3 && fits && holds && !strcmp(key, field)) strcpy(value, text);
    script = strchr(script, ';');
    if (script) script++;
  }
  return value;
}

static const char *of(Device device, const char *field, char *value) {
  char name[16];
  snprintf(name, sizeof name, "%d", device->index);
  return find(name, field, value);
}

/* The state of a device, or the error of one of its fields; `value` gets what the field holds. */
static int read_field(Device device, const char *field, char *value) {
  char error[64] = "0", hang[64] = "0";
  if (!sessions) return UNINITIALIZED;
  while (atoi(of(device, "hang", hang))) pause();
  if (atoi(of(device, "error", error))) return atoi(error);
  of(device, field, value);
  return strncmp(value, "error:", 6) ? SUCCESS : atoi(value + 6);
}

static int read_number(Device device, const char *field, int otherwise, unsigned *number) {
  char value[64];
  snprintf(value, sizeof value, "%d", otherwise);
  int result = read_field(device, field, value);
  *number = strtoul(value, NULL, 0);
  return result;
}

/* Sensors of a whole GPU, which its MIG instances do not have. */
static int read_sensor(Device device, const char *field, int otherwise, unsigned *number) {
  int result = read_number(device, field, otherwise, number);
  return result == SUCCESS && device->instance >= 0 ? NOT_SUPPORTED : result;
}

static unsigned count(void) {
  char value[64] = "2";
  return atoi(find("system", "gpus", value));
}

static unsigned instances(Device device) {
  unsigned number;
  return read_number(device, "mig", 0, &number) == SUCCESS ? number : 0;
}

#if DRIVER < 396
#define nvmlInitWithFlags nvmlInit_v2
#endif
int nvmlInitWithFlags(unsigned flags) {
  char value[64] = "0";
  int result = atoi(find("system", "init", value));
  if (!sessions) { /* nothing is left of an earlier session of this process */
    readings = 0;
    memset(sent, 0, sizeof sent);
  }
  sessions += result == SUCCESS;
  return result;
}

int nvmlShutdown(void) {
  if (!sessions) return UNINITIALIZED;
  sessions--;
  return SUCCESS;
}

const char *nvmlErrorString(int result) { return "an error of the stub"; }

int nvmlDeviceGetCount_v2(unsigned *number) { return *number = count(), SUCCESS; }

static int open_device(unsigned index, int instance, Device *device) {
  char none[64] = "";
  *device = (Device)&devices[index][1 + instance];
  (*device)->index = index;
  (*device)->instance = instance;
  return read_field(*device, "", none);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device) {
  return index < count() ? open_device(index, -1, device) : INVALID_ARGUMENT;
}

int nvmlDeviceGetMigDeviceHandleByIndex(Device gpu, unsigned index, Device *device) {
  return index < instances(gpu) ? open_device(gpu->index, index, device) : NOT_FOUND;
}

int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(Device instance, Device *device) {
  return open_device(instance->index, -1, device);
}

static void write_uuid(Device device, char *text, unsigned length) {
  char a = "0123456789abcdef"[device->index], b = device->instance < 0 ? a : '0' + device->instance;
  snprintf(text, length, "%s-%c%c%c%c%c%c%c%c-%c%c%c%c-%c%c%c%c-%c%c%c%c-%c%c%c%c%c%c%c%c%c%c%c%c",
           device->instance < 0 ? "GPU" : "MIG", a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b, a, b,
           a, b, a, b, a, b, a, b, a, b, a, b, a, b);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, Device *device) {
  char text[96];
  for (unsigned index = 0; index < count(); index++)
    for (int instance = -1; instance < INSTANCES; instance++) {
      open_device(index, instance, device);
      write_uuid(*device, text, sizeof text);
      if (!strcmp(uuid, text)) return open_device(index, instance, device);
    }
  return NOT_FOUND;
}

int nvmlDeviceGetUUID(Device device, char *text, unsigned length) {
  char none[64] = "";
  write_uuid(device, text, length);
  return read_field(device, "", none);
}

int nvmlDeviceGetName(Device device, char *text, unsigned length) {
  char value[64] = "NVIDIA_Stub";
  int result = read_field(device, "name", value);
  for (char *at = value; *at; at++)
    if (*at == '_') *at = ' ';
  snprintf(text, length, "%s", value);
  return result;
}

int nvmlDeviceGetMigMode(Device device, unsigned *current, unsigned *pending) {
  *current = *pending = instances(device) > 0;
  return *current ? SUCCESS : NOT_SUPPORTED;
}

int nvmlDeviceGetMaxMigDeviceCount(Device device, unsigned *number) {
  return *number = INSTANCES, SUCCESS;
}

int nvmlDeviceGetMemoryInfo(Device device, Memory *memory) {
  unsigned total, used;
  int result = read_number(device, "memory", 80 << 10, &total);
  if (result == SUCCESS) result = read_number(device, "used", (device->index + 1) << 10, &used);
  if (device->instance >= 0) total /= instances(device);
  memory->total = (unsigned long long)total << 20;
  memory->used = (unsigned long long)used << 20;
  memory->free = memory->total - memory->used;
  return result;
}

int nvmlDeviceGetUtilizationRates(Device device, Utilization *rates) {
  rates->memory = 10;
  return read_sensor(device, "load", 50 + device->index, &rates->gpu);
}

int nvmlDeviceGetTemperature(Device device, int sensor, unsigned *celsius) {
  return read_sensor(device, "temperature", 40 + device->index, celsius);
}

static long long now(void) { /* ms */
  char value[64] = "";
  struct timespec time;
  if (*find("system", "time", value)) return atoll(value);
  clock_gettime(CLOCK_REALTIME, &time);
  return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

/* The joules of a course of power from 0 until `ms`. */
static double joules(double *watts, double ms) {
  double low = watts[0], high = watts[1], period = watts[2], on = period * watts[3] / 100;
  double whole = (long long)(ms / period), rest = ms - whole * period;
  double high_ms = whole * on + (rest < on ? rest : on);
  return (low * ms + (high - low) * high_ms + watts[4] * ms * ms / 2000) / 1000;
}

/* Whether the device has a course of power; it is LOW, HIGH, PERIOD, DUTY and DRIFT. */
static int has_course(Device device, double *watts) {
  char value[64] = "";
  of(device, "watts", value);
  return device->instance < 0 && sscanf(value, "%lf:%lf:%lf:%lf:%lf", watts, watts + 1, watts + 2,
                                        watts + 3, watts + 4) == 5;
}

int nvmlDeviceGetPowerUsage(Device device, unsigned *milliwatts) {
  double watts[5];
  unsigned averaged;
  readings++;
  int result = read_sensor(device, "power", 300000, milliwatts);
  if (result == SUCCESS && has_course(device, watts)) {
    long long tick = now() / TICK * TICK;
    read_number(device, "averaged", 1000, &averaged);
    *milliwatts = (joules(watts, tick) - joules(watts, tick - averaged)) * 1e6 / averaged;
  }
  return result;
}

int nvmlDeviceGetTotalEnergyConsumption(Device device, unsigned long long *millijoules) {
  char value[64] = "error:3";
  double watts[5];
  int result = read_field(device, "energy", value);
  *millijoules = strtoull(value, NULL, 10);
  if (result != NOT_SUPPORTED || !has_course(device, watts)) return result;
  return *millijoules = joules(watts, now() / TICK * TICK) * 1000, SUCCESS;
}

static int read_field_value(Device device, unsigned id, unsigned long long *number) {
  char key[16], value[64] = "error:3";
  snprintf(key, sizeof key, "f%u", id);
  int result = read_field(device, key, value);
  *number = strtoull(value, NULL, 10);
  return result == SUCCESS && device->instance >= 0 ? NOT_SUPPORTED : result;
}

int nvmlDeviceGetFieldValues(Device device, int number, Field *fields) {
  char none[64] = "";
  int result = read_field(device, "", none);
  for (int i = 0; i < number && result == SUCCESS; i++) {
    fields[i].type = 3; /* an unsigned long long */
    fields[i].result = read_field_value(device, fields[i].id, &fields[i].value);
  }
  return result;
}

int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned *milliwatts) {
  return read_sensor(device, "limit", 700000, milliwatts);
}

int nvmlDeviceGetPowerManagementDefaultLimit(Device device, unsigned *milliwatts) {
  return read_sensor(device, "default_limit", 700000, milliwatts);
}

int nvmlDeviceGetClockInfo(Device device, int kind, unsigned *mhz) {
  return kind == SM ? read_sensor(device, "sm_clock", 1980, mhz)
                    : read_sensor(device, "memory_clock", 2619, mhz);
}

int nvmlDeviceGetMaxClockInfo(Device device, int kind, unsigned *mhz) {
  return kind == SM ? read_sensor(device, "max_sm_clock", 1980, mhz)
                    : read_sensor(device, "memory_clock", 2619, mhz);
}

#if DRIVER < 535
#define nvmlDeviceGetCurrentClocksEventReasons nvmlDeviceGetCurrentClocksThrottleReasons
#endif
int nvmlDeviceGetCurrentClocksEventReasons(Device device, unsigned long long *mask) {
  unsigned number;
  int result = read_sensor(device, "reasons", 0, &number);
  return *mask = number, result;
}

#if DRIVER >= 560
int nvmlDeviceGetMarginTemperature(Device device, Margin *margin) {
  char value[64] = "error:3";
  int result = read_field(device, "headroom", value);
  return margin->degrees = atoi(value), result;
}
#endif

static int read_optional(Device device, const char *field, unsigned *number) {
  char value[64] = "error:3";
  int result = read_field(device, field, value);
  return *number = atoi(value), result;
}

int nvmlDeviceGetTemperatureThreshold(Device device, int kind, unsigned *degrees) {
  return read_optional(device, "slowdown", degrees);
}

int nvmlDeviceGetCurrPcieLinkGeneration(Device device, unsigned *generation) {
  return read_optional(device, "generation", generation);
}

int nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned *width) {
  return read_optional(device, "width", width);
}

int nvmlDeviceGetMaxPcieLinkGeneration(Device device, unsigned *generation) {
  return *generation = 5, SUCCESS;
}

int nvmlDeviceGetMaxPcieLinkWidth(Device device, unsigned *width) { return *width = 16, SUCCESS; }

#if DRIVER < 510
#define nvmlDeviceGetComputeRunningProcesses_v3 nvmlDeviceGetComputeRunningProcesses_v2
#endif
int nvmlDeviceGetComputeRunningProcesses_v3(Device device, unsigned *number, Process *processes) {
  char value[64] = "";
  unsigned room = *number;
  int result = read_field(device, "pids", value);
  *number = 0;
  for (char *at = strtok(value, ","); at && result == SUCCESS; at = strtok(NULL, ","), ++*number)
    if (*number < room) processes[*number] = (Process){atoi(at), 5ULL << 30, 0, 0};
  return result == SUCCESS && *number > room ? INSUFFICIENT_SIZE : result;
}

int nvmlDeviceGetCudaComputeCapability(Device device, int *major, int *minor) {
  char value[64] = "9.0";
  int result = read_field(device, "capability", value);
  sscanf(value, "%d.%d", major, minor);
  return result;
}

int nvmlDeviceGetCpuAffinity(Device device, unsigned words, unsigned long *mask) {
  char value[64] = "error:3";
  int result = read_field(device, "cpus", value);
  memset(mask, 0, words * sizeof *mask);
  size_t left = strlen(value);
  for (unsigned word = 0; word < words && left && result == SUCCESS; word++) {
    size_t digits = left < 16 ? left : 16;
    left -= digits;
    char part[17] = "";
    memcpy(part, value + left, digits);
    mask[word] = strtoul(part, NULL, 16);
  }
  return result;
}

int nvmlDeviceGetPciInfo_v3(Device device, Pci *pci) {
  char none[64] = "";
  memset(pci, 0, sizeof *pci);
  snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", 0x18 + device->index);
  return read_field(device, "", none);
}

int nvmlEventSetCreate(void **set) { return *set = sent, sessions ? SUCCESS : UNINITIALIZED; }

int nvmlEventSetFree(void *set) { return SUCCESS; }

int nvmlDeviceRegisterEvents(Device device, unsigned long long types, void *set) {
  return device->instance < 0 && types == XID ? SUCCESS : NOT_SUPPORTED;
}

int nvmlEventSetWait_v2(void *set, Event *event, unsigned milliseconds) {
  for (unsigned index = 0; index < count(); index++) {
    char value[64] = "0", name[16];
    snprintf(name, sizeof name, "%u", index);
    int xid = atoi(find(name, "xid", value));
    if (xid == sent[index]) continue;
    sent[index] = xid;
    *event = (Event){(Device)&devices[index][0], XID, xid, 0, 0};
    return SUCCESS;
  }
  return TIMEOUT;
}

int nvmlSystemGetDriverVersion(char *text, unsigned length) {
  snprintf(text, length, "%d.43", DRIVER);
  return SUCCESS;
}

int nvmlSystemGetCudaDriverVersion(int *version) {
  return *version = DRIVER < 525 ? 11040 : 13020, SUCCESS;
}

int cuInit(unsigned flags) { return SUCCESS; }

int cuDriverGetVersion(int *version) { return nvmlSystemGetCudaDriverVersion(version); }

int cuGetProcAddress_v2(const char *name, void **found, int version, unsigned long flags, void *status) {
  return *found = NULL, 500; /* CUDA_ERROR_NOT_FOUND */
}
