/* Stands in for libnvidia-ml.so.1: what pynvml calls of it, for two GPUs.
 *
 * NVML_STUB_INIT   what nvmlInit returns (an NVML error number); 0 by default
 * NVML_STUB_LOSE   after how many power readings GPU 1 falls off the bus; never by default
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, UNINITIALIZED = 1, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, NOT_FOUND = 6,
       GPU_IS_LOST = 15 };
enum { GPUS = 2 };

typedef struct { unsigned long long total, free, used; } Memory;
typedef struct { unsigned gpu, memory; } Utilization;
typedef struct { int index; } *Device;

static struct { int index; } gpus[GPUS] = {{0}, {1}};
static const char *uuids[GPUS] = {"GPU-00000000-0000-0000-0000-000000000000",
                                  "GPU-11111111-1111-1111-1111-111111111111"};
static int sessions, readings;

static int number(const char *name, int otherwise) {
  const char *value = getenv(name);
  return value ? atoi(value) : otherwise;
}

static int state(Device device) {
  if (!sessions) return UNINITIALIZED;
  int lost = number("NVML_STUB_LOSE", -1);
  return device->index == 1 && lost >= 0 && readings >= lost ? GPU_IS_LOST : SUCCESS;
}

int nvmlInitWithFlags(unsigned flags) {
  int result = number("NVML_STUB_INIT", SUCCESS);
  sessions += result == SUCCESS;
  return result;
}

int nvmlShutdown(void) {
  if (!sessions) return UNINITIALIZED;
  sessions--;
  return SUCCESS;
}

const char *nvmlErrorString(int result) { return "an error of the stub"; }

int nvmlDeviceGetCount_v2(unsigned *count) { return *count = GPUS, SUCCESS; }

int nvmlDeviceGetHandleByIndex_v2(unsigned index, Device *device) {
  if (index >= GPUS) return INVALID_ARGUMENT;
  *device = (Device)&gpus[index];
  return state(*device);
}

int nvmlDeviceGetHandleByUUID(const char *uuid, Device *device) {
  for (int i = 0; i < GPUS; i++)
    if (!strcmp(uuid, uuids[i])) return nvmlDeviceGetHandleByIndex_v2(i, device);
  return NOT_FOUND;
}

int nvmlDeviceGetUUID(Device device, char *text, unsigned length) {
  snprintf(text, length, "%s", uuids[device->index]);
  return state(device);
}

int nvmlDeviceGetName(Device device, char *text, unsigned length) {
  snprintf(text, length, "NVIDIA Stub");
  return state(device);
}

int nvmlDeviceGetMigMode(Device device, unsigned *current, unsigned *pending) {
  return NOT_SUPPORTED;
}

int nvmlDeviceGetMemoryInfo(Device device, Memory *memory) {
  memory->total = 80ull << 30;
  memory->used = (unsigned long long)(device->index + 1) << 30;
  memory->free = memory->total - memory->used;
  return state(device);
}

int nvmlDeviceGetUtilizationRates(Device device, Utilization *rates) {
  rates->gpu = 50 + device->index;
  rates->memory = 10;
  return state(device);
}

int nvmlDeviceGetTemperature(Device device, int sensor, unsigned *celsius) {
  *celsius = 40 + device->index;
  return state(device);
}

int nvmlDeviceGetPowerUsage(Device device, unsigned *milliwatts) {
  *milliwatts = 300000;
  readings++;
  return state(device);
}

int nvmlDeviceGetEnforcedPowerLimit(Device device, unsigned *milliwatts) {
  *milliwatts = 700000;
  return state(device);
}

int nvmlSystemGetDriverVersion(char *text, unsigned length) {
  snprintf(text, length, "610.43");
  return SUCCESS;
}

int nvmlSystemGetCudaDriverVersion(int *version) { return *version = 13020, SUCCESS; }
