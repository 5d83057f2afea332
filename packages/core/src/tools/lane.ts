import { LooseleafError, isLooseleafError, type ErrorCode } from '../errors/errors.ts'
import {
  areOfSeveralCalls,
  createAbortableCall,
  createCall,
  endItem,
  type Call,
  type QueuedItem,
} from './lane-call.ts'
import { platformTime } from '../platform/platform-time.ts'
import { abortedError } from './time.ts'

/**
 * No function of these options but `run` should throw. If one does, the queued calls (for `onHalved`, the calls of its
 * batch) reject with that error, nothing of what was queued is sent, and the lane stays usable.
 */
export interface LaneOptions<Item, Result> {
  /** Name in messages, such as `shard 0 entities insert`. */
  readonly name: string
  /**
   * Sends one statement for all items and returns their results in order. If it rejects, it has changed nothing, or its
   * error has `unknownOutcome`.
   */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Largest number of items per statement. */
  readonly maxBatch: number
  /** Capacity of the queue in items. A call that does not fit waits its turn; at most `maxQueue` calls wait. */
  readonly maxQueue: number
  /** Milliseconds that a call waits for room before it rejects with `SHARD_BUSY`. Default: 10,000. */
  readonly maxWaitMs?: number | undefined
  /** Two items of the same key never share a statement. */
  readonly keyOf?: ((item: Item) => string) | undefined
  /** Only items of one group share a statement. */
  readonly groupOf?: ((item: Item) => unknown) | undefined
  /** Size of an item in bytes, see `maxBytes`. */
  readonly bytesOf?: ((item: Item) => number) | undefined
  /** Largest number of bytes per statement. An item that is larger goes alone. */
  readonly maxBytes?: number | undefined
  /**
   * Pauses before a statement so that calls about to arrive can join it. The lane awaits it only if several calls are queued, or one
   * of the last 8 statements carried several. A single call in a quiet lane, or a queue of at least `enoughRows` rows, goes
   * out at once. Should end within a few turns of the event loop.
   */
  readonly gather?: (() => Promise<void>) | undefined
  /**
   * Rows in the queue from which `gather` is skipped: each row of such a statement is cheap already, and the shard would be
   * idle during the pause. Rows count even if they cannot share the next statement. Default: `gather` is never skipped.
   */
  readonly enoughRows?: number | undefined
  /**
   * Number of rows that an item costs. Called for each queued item before each statement, so keep it cheap. Default: 1.
   */
  readonly rowsOf?: ((item: Item) => number) | undefined
  readonly workFor?: WorkFor | undefined
  /** Called when a statement was rejected with this code and its items are sent again in halves. */
  readonly onHalved?: ((code: ErrorCode, items: number) => void) | undefined
}

/** Attributes a shared statement to each of its callers, for traces. */
export interface WorkFor {
  /** If false, nobody is tracing, and the lane calls neither of the other methods. */
  readonly isWanted: boolean
  /** Returns the trace of the present asynchronous context; undefined if there is none. */
  current(): unknown
  /**
   * Runs `work` on behalf of these traces, each a value of `current`, and of `untraced` calls without a trace. The traces of the
   * present context have no part in it.
   */
  run<T>(traces: ReadonlySet<unknown>, untraced: number, work: () => T): T
}

/**
 * A lane gathers calls of one kind to one table of one shard into statements of many rows. One statement is in flight
 * at a time. A call that finds the lane idle goes out at once; calls that arrive during a statement share the next one. So rows per
 * statement grow with the load, and no call waits on purpose, except for `gather`.
 *
 * The queue of items is bounded. Calls that do not fit wait for room in the order of their arrival; a call of many items
 * waits until there is room for all of them. Only the lane's own statements delay its queue, so every call ends.
 *
 * A failed statement fails all of its calls with the same error, and nothing is sent again:
 * - if the error is `retryable`, each caller decides whether to retry;
 * - if it has `unknownOutcome`, a second attempt could do the work twice;
 * - `ABORTED`, `CLOSED` and errors of a whole table or shard are no fault of one row;
 * - an error of another class than LooseleafError is a fault of the program.
 *
 * Any other error is permanent, nothing was done, and one row may be to blame. The lane sends the batch again in halves,
 * one after the other, until the rows to blame fail alone. The other rows get their results, only later. Such a batch is
 * several statements: some may be done when another fails.
 *
 * A call whose signal fires fails alone, and queued calls are not affected by the failure of an earlier statement.
 */
export interface Lane<Item, Result> {
  /**
   * Queues an item and resolves with its result. Rejects with `ABORTED` when the signal fires; an item in flight is not
   * called back. Rejects with `SHARD_BUSY`, unsent, if there was no room.
   */
  submit(item: Item, signal?: AbortSignal): Promise<Result>
  /**
   * Like `submit` for each item, with one promise. It settles when every item has ended, with the results in order or the
   * first error. Only `ABORTED` comes at once, while items may be in flight.
   */
  submitAll(items: readonly Item[], signal?: AbortSignal): Promise<readonly Result[]>
  /** Statements sent so far. */
  readonly statements: number
  /** Items of these statements. */
  readonly items: number
  /** Items that are not sent yet, in the queue or waiting for room. */
  readonly waiting: number
}

const MAX_WAIT_MS = 10_000
/**
 * Statements after a shared one that `gather` precedes. Callers that were answered together call again together, and the
 * first of them arrives alone.
 */
const CROWDED_STATEMENTS = 8

export function createLane<Item, Result>(options: LaneOptions<Item, Result>): Lane<Item, Result> {
  const { name, maxQueue, maxWaitMs = MAX_WAIT_MS, maxBatch, workFor } = options
  const takesInOrder =
    options.keyOf === undefined && options.groupOf === undefined && options.bytesOf === undefined
  let queue: QueuedItem<Item, Result>[] = []
  /** Calls in the order of their arrival, with the timers that end their wait. */
  const waitingForRoom = new Map<Call<Item, Result>, ReturnType<typeof platformTime.setTimeout>>()
  let busy = false
  /** Statements before which `gather` is still awaited although a call is alone. */
  let crowded = 0
  let statements = 0
  let itemsSent = 0

  const hasRoom = ({ items }: Call<Item, Result>): boolean =>
    queue.length === 0 || queue.length + items.length <= maxQueue

  function enqueue(call: Call<Item, Result>): void {
    const { items } = call
    for (let position = 0; position < items.length; position++)
      queue.push({ item: items[position] as Item, call, position })
    if (!busy) void drain()
  }

  /** Moves waiting calls into the queue as far as there is room. */
  function admit(): void {
    for (const [call, timer] of waitingForRoom) {
      if (!hasRoom(call)) return
      platformTime.clearTimeout(timer)
      waitingForRoom.delete(call)
      enqueue(call)
    }
  }

  function submitCall(call: Call<Item, Result>): void {
    if (waitingForRoom.size === 0 && hasRoom(call)) return enqueue(call)
    const refuse = (reason: string): void =>
      call.reject(new LooseleafError('SHARD_BUSY', `${name}: ${reason}; this call was not sent.`))
    if (waitingForRoom.size >= maxQueue) return refuse(`${maxQueue} calls are waiting for room already`)
    const onTimeout = (): void => {
      waitingForRoom.delete(call)
      refuse(`there was no room for ${call.items.length} within ${maxWaitMs} milliseconds`)
      admit()
    }
    waitingForRoom.set(call, platformTime.setTimeout(onTimeout, maxWaitMs))
  }

  /** Removes a call that is not sent yet, so that it keeps no room from others. */
  function abort(call: Call<Item, Result>): void {
    call.aborted = true
    platformTime.clearTimeout(waitingForRoom.get(call))
    waitingForRoom.delete(call)
    queue = queue.filter((queued) => queued.call !== call)
    admit()
  }

  function takeBatch(): QueuedItem<Item, Result>[] {
    if (takesInOrder) return queue.splice(0, maxBatch)
    const batch: QueuedItem<Item, Result>[] = []
    const skipped: QueuedItem<Item, Result>[] = []
    const keys = new Set<string>()
    let group: unknown
    let bytes = 0
    let index = 0
    for (; index < queue.length && batch.length < maxBatch; index++) {
      const queued = queue[index] as QueuedItem<Item, Result>
      const key = options.keyOf?.(queued.item)
      const itemGroup = options.groupOf?.(queued.item)
      const itemBytes = options.bytesOf?.(queued.item) ?? 0
      const fits =
        batch.length === 0 ||
        (itemGroup === group &&
          bytes + itemBytes <= (options.maxBytes ?? Infinity) &&
          !(key !== undefined && keys.has(key)))
      if (!fits) {
        skipped.push(queued)
        // Later items of the same key must not overtake this one.
        if (key !== undefined) keys.add(key)
        continue
      }
      if (batch.length === 0) group = itemGroup
      if (key !== undefined) keys.add(key)
      bytes += itemBytes
      batch.push(queued)
    }
    queue = skipped.length === 0 ? queue.slice(index) : [...skipped, ...queue.slice(index)]
    return batch
  }

  function hasEnoughRows(): boolean {
    const { enoughRows = Infinity, rowsOf } = options
    if (rowsOf === undefined) return queue.length >= enoughRows
    let rows = 0
    for (let i = 0; i < queue.length && rows < enoughRows; i++) rows += rowsOf(queue[i]!.item)
    return rows >= enoughRows
  }

  function runForCallers<T>(batch: readonly QueuedItem<Item, Result>[], work: () => T): T {
    if (!workFor?.isWanted) return work()
    const traces = new Set<unknown>()
    let untraced = 0
    let previous: Call<Item, Result> | undefined
    for (const { call } of batch) {
      // The items of a call stand side by side.
      if (call === previous) continue
      previous = call
      if (call.requester === undefined) untraced++
      else traces.add(call.requester)
    }
    // The present context is that of the caller that found the lane idle.
    return workFor.run(traces, untraced, work)
  }

  async function send(batch: readonly QueuedItem<Item, Result>[]): Promise<void> {
    statements++
    itemsSent += batch.length
    try {
      const items = batch.map((queued) => queued.item)
      const results = await runForCallers(batch, () => options.run(items))
      if (results.length !== batch.length) throw wrongCount(name, batch.length, results.length)
      for (let i = 0; i < batch.length; i++) {
        const { call, position } = batch[i] as QueuedItem<Item, Result>
        call.results[position] = results[i] as Result
        endItem(call)
      }
    } catch (error) {
      if (batch.length === 1 || !mayBeOneRow(error)) fail(batch, error)
      else await sendHalves(batch, error.code)
    }
  }

  async function sendHalves(batch: readonly QueuedItem<Item, Result>[], code: ErrorCode): Promise<void> {
    try {
      runForCallers(batch, () => options.onHalved?.(code, batch.length))
    } catch (error) {
      fail(batch, error)
      return
    }
    const half = batch.length >> 1
    await sendUnaborted(batch.slice(0, half))
    await sendUnaborted(batch.slice(half))
  }

  async function sendUnaborted(batch: readonly QueuedItem<Item, Result>[]): Promise<void> {
    const wanted = batch.filter(({ call }) => !call.aborted)
    if (wanted.length > 0) await send(wanted)
  }

  /** Never rejects: the lane would stay busy for ever. */
  async function drain(): Promise<void> {
    busy = true
    // Calls of the same turn of the event loop share a statement.
    await Promise.resolve()
    while (queue.length > 0) {
      let batch: QueuedItem<Item, Result>[]
      try {
        const mayGather = options.gather !== undefined && (crowded > 0 || areOfSeveralCalls(queue))
        if (mayGather && !hasEnoughRows()) await options.gather()
        batch = takeBatch()
      } catch (error) {
        fail(queue.splice(0), error)
        admit()
        continue
      }
      crowded = areOfSeveralCalls(batch) ? CROWDED_STATEMENTS : Math.max(0, crowded - 1)
      admit()
      if (batch.length > 0) await send(batch)
    }
    busy = false
  }

  function start(
    items: readonly Item[],
    signal: AbortSignal | undefined,
    resolve: (results: Result[]) => void,
    reject: (error: unknown) => void,
  ): void {
    if (signal?.aborted) return reject(abortedError(signal))
    if (items.length === 0) return resolve([])
    const requester = workFor?.isWanted ? workFor.current() : undefined
    submitCall(
      signal === undefined
        ? createCall(items, requester, resolve, reject)
        : createAbortableCall(items, requester, resolve, reject, signal, abort),
    )
  }

  return {
    get statements() {
      return statements
    },
    get items() {
      return itemsSent
    },
    get waiting() {
      let waiting = queue.length
      for (const call of waitingForRoom.keys()) waiting += call.items.length
      return waiting
    },
    submitAll: (items, signal) =>
      new Promise<readonly Result[]>((resolve, reject) => start(items, signal, resolve, reject)),
    submit: (item, signal) =>
      new Promise<Result>((resolve, reject) =>
        start([item], signal, (results) => resolve(results[0] as Result), reject),
      ),
  }
}

function fail<Item, Result>(batch: readonly QueuedItem<Item, Result>[], error: unknown): void {
  for (const { call } of batch) endItem(call, { error })
}

function wrongCount(name: string, items: number, results: number): LooseleafError {
  return new LooseleafError(
    'STATEMENT_FAILED',
    `${name}: ${items} items were sent, ${results} results came back.`,
    { unknownOutcome: true },
  )
}

/** Codes of errors that concern a whole table or shard, or the caller. */
const CODES_OF_ALL_ROWS: ReadonlySet<ErrorCode> = new Set([
  'ABORTED',
  'CLOSED',
  'INDEX_NOT_FOUND',
  'NOT_MIGRATED',
  'SHARD_DENIED',
])

/** Tells whether nothing was changed and one row may be to blame. */
function mayBeOneRow(error: unknown): error is LooseleafError {
  return (
    isLooseleafError(error) && !error.retryable && !error.unknownOutcome && !CODES_OF_ALL_ROWS.has(error.code)
  )
}
