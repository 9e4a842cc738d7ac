/* Collectives of MPI's processes: plans that threads of C run while the program goes on. MPI itself is not linked, its functions are
 * looked up by Python in the library that is loaded already.
 *
 * Python API of theano.native._runtime:
 *
 *   exchange = Exchange(functions, sizes, comm, byte, numbers, big, on_big)
 *     functions  addresses of MPI_Isend, MPI_Irecv, MPI_Testall, MPI_Get_count, MPI_Request_get_status
 *     sizes      bytes of a handle (4 or 8) and of a status
 *     comm, byte the handles of the communicator and of MPI_BYTE, as numbers
 *     numbers    collectives are numbered from 1 on modulo this; a tag is twice the number and the kind of the plan
 *     big        from so many bytes on a transfer goes on while the program computes, if somebody drives
 *     on_big     called when there is the first of these; or None
 *   exchange.start(plan, combine, dtype number, given, taken, room, label, nbytes) -> Transfer
 *     plan       int64 array: bytes of room, most messages of a round, number of rounds, kind; for each round how many messages it receives and
 *                sends, and how much work it has; a message is (rank, place, begin, bytes), receives first; a piece of work is (place,
 *                begin, bytes, number of sources), then (place, begin) of each. Places: 0 given, 1 taken, 2 room
 *     combine    a ufunc of two arguments, or None
 *     given, taken, room: uint8 arrays
 *   exchange.progress() -> whether anything happened; exchange.give_up(): all transfers under way have failed
 *   exchange.drive(): drives big transfers until exchange.stop()
 *   exchange.active: how many transfers are under way; exchange.direct: whether instructions may start and end transfers by themselves;
 *   exchange.waiting: whoever waits counts itself here
 *   transfer.done, failure, started, ended, label, nbytes, result, missing(), taken()
 *     failure    None, or (code of MPI, source, bytes that came, bytes that should; statuses); code -1: given up
 *     result     for whoever started it
 */
#pragma once

#include "vm.h"

#define THN_STATUS_BYTES 32

enum { THN_GIVEN, THN_TAKEN, THN_ROOM };
enum { THN_UNDER_WAY, THN_DONE, THN_FAILED };

/* The inner loop of a ufunc. */
typedef struct ThnCombine {
    void (*loop)(char **args, const npy_intp *dims, const npy_intp *steps, void *data);
    void *data;
    int itemsize, half;
} ThnCombine;

typedef struct ThnExchange ThnExchange;

typedef struct ThnTransfer {
    PyObject_HEAD
    ThnExchange *exchange;
    PyObject *plan, *label, *result;
    ThnBuffer *buffers[3];    /* the memory of the places: arrays', cells' or the pool's */
    char *place[3];
    char scalar[16];          /* what a number gives */
    ThnCombine combine;
    const int64_t *at;        /* the round that comes next */
    const int64_t *now;       /* the round under way; NULL: none */
    int rounds, tag;
    char *requests, *statuses;
    int state;                /* published when all else is written */
    int code, source;
    int64_t came, expected;
    int64_t nbytes, taken_bytes;
    npy_intp times, over;     /* how the first axis changes, where an instruction started it; else zeros */
    double started, ended;
    struct ThnTransfer *next; /* under way, or to be let go */
} ThnTransfer;

extern PyTypeObject *thn_ExchangeType, *thn_TransferType;

/* The loop of a ufunc (None: nothing is combined) for a dtype. -1 + Python error. */
int thn_combine_loop(PyObject *ufunc, int typenum, ThnCombine *combine);
/* Whether instructions may use it now. */
int thn_exchange_direct(const ThnExchange *e);
/* A transfer without memory: the places are the caller's to fill, then `begin` starts it. `plan` was checked. */
ThnTransfer *thn_transfer_new(ThnExchange *e, PyObject *plan, const ThnCombine *combine, PyObject *label, int64_t nbytes);
/* How many bytes of each place a plan needs; -1 + Python error for what is no plan. */
int thn_plan_check(PyObject *plan, int64_t needs[3]);
int thn_transfer_begin(ThnTransfer *t);
/* Tests it, for so many seconds at most; returns its state. Releases the GIL unless it is done at once. */
int thn_transfer_wait(ThnTransfer *t, double seconds);
int thn_collective_init(PyObject *module);
