import { LooseleafError, isLooseleafError } from './errors.ts'
import { abortedError } from './time.ts'

export interface LaneOptions<Item, Result> {
  /** Named in messages, such as `shard 0 entities insert`. */
  readonly name: string
  /**
   * Sends one statement for all items and answers in their order. When it rejects, it has changed nothing,
   * or the error says `unknownOutcome`.
   */
  readonly run: (items: readonly Item[]) => Promise<readonly Result[]>
  /** Items of one statement at the most. */
  readonly maxBatch: number
  /** Calls that may wait; one more is refused with `SHARD_BUSY`. */
  readonly maxQueue: number
  /** Two items of the same key never share a statement. */
  readonly keyOf?: (item: Item) => string
  /** Only items of one group share a statement. */
  readonly groupOf?: (item: Item) => unknown
  /** The weight of an item in bytes; a statement carries `maxBytes` at the most, or one item. */
  readonly bytesOf?: (item: Item) => number
  readonly maxBytes?: number
  /**
   * Awaited before a statement when several calls wait, or several went with the one before: for the others that are
   * about to come. It may not reject, and should be over before anybody notices. A lone call is never held up by it.
   */
  readonly gather?: () => Promise<void>
}

/**
 * A lane gathers calls of one kind to one table of one shard into statements of many rows. One statement is in flight
 * at a time: a lone call goes out at once, and whatever arrives meanwhile goes out together with the next one. So the
 * rows per statement grow with the load, without any waiting on purpose but what `gather` adds.
 *
 * Calls share a statement without knowing of each other, so what befalls the statement befalls them all, unless one of
 * them is to blame:
 * - An error that is permanent, and says that nothing was done, may come from one row. The batch is sent again in halves,
 *   one after the other, until the rows to blame fail alone; the others get their results, later than without it. From
 *   then on the batch is several statements, some of which may be done when another fails.
 * - Every other error goes to every call of its statement, as the same object, and nothing is sent again: one that may
 *   pass (`retryable`), because it is each caller's to say whether to try again; one with `unknownOutcome`, because a
 *   second attempt could do twice what was done; `ABORTED` and `CLOSED`.
 * - A call whose signal fires fails alone. Calls that wait are not touched by the failure of the statement before them.
 */
export interface Lane<Item, Result> {
  /** Rejects with `ABORTED` when the signal fires while it waits; an item already sent is not called back. */
  submit(item: Item, signal?: AbortSignal): Promise<Result>
  /** As `submit` of each, with one promise for all: their results in order, or the first error, while the others go on. */
  submitAll(items: readonly Item[], signal?: AbortSignal): Promise<readonly Result[]>
  /** Statements sent so far. */
  readonly statements: number
}

interface Waiting<Item, Result> {
  readonly item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

export function createLane<Item, Result>(options: LaneOptions<Item, Result>): Lane<Item, Result> {
  let queue: Waiting<Item, Result>[] = []
  let busy = false
  /** Whether several calls went with the last statement. */
  let crowded = false
  let statements = 0

  function takeBatch(): Waiting<Item, Result>[] {
    const batch: Waiting<Item, Result>[] = []
    const left: Waiting<Item, Result>[] = []
    const keys = new Set<string>()
    let group: unknown
    let bytes = 0
    let index = 0
    for (; index < queue.length && batch.length < options.maxBatch; index++) {
      const waiting = queue[index] as Waiting<Item, Result>
      const key = options.keyOf?.(waiting.item)
      const itemGroup = options.groupOf?.(waiting.item)
      const itemBytes = options.bytesOf?.(waiting.item) ?? 0
      const fits =
        batch.length === 0 ||
        (itemGroup === group &&
          bytes + itemBytes <= (options.maxBytes ?? Infinity) &&
          !(key !== undefined && keys.has(key)))
      if (!fits) {
        left.push(waiting)
        // Later items of the same key must not overtake this one.
        if (key !== undefined) keys.add(key)
        continue
      }
      if (batch.length === 0) group = itemGroup
      if (key !== undefined) keys.add(key)
      bytes += itemBytes
      batch.push(waiting)
    }
    queue = left.length === 0 ? queue.slice(index) : [...left, ...queue.slice(index)]
    return batch
  }

  async function send(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    statements++
    try {
      const results = await options.run(batch.map((waiting) => waiting.item))
      if (results.length !== batch.length) throw wrongCount(options.name, batch.length, results.length)
      batch.forEach((waiting, i) => waiting.resolve(results[i] as Result))
    } catch (error) {
      if (batch.length === 1 || !mayBeOneRow(error)) {
        for (const waiting of batch) waiting.reject(error)
        return
      }
      // Nothing was changed, and one of the rows is to blame: halve until it fails alone.
      const half = batch.length >> 1
      await send(batch.slice(0, half))
      await send(batch.slice(half))
    }
  }

  /** Takes a call out of the queue, where it would keep others from waiting; one already sent is not there any more. */
  function drop(waiting: Waiting<Item, Result>): void {
    const index = queue.indexOf(waiting)
    if (index !== -1) queue.splice(index, 1)
  }

  async function drain(): Promise<void> {
    busy = true
    // Calls made in the same turn of the event loop travel together.
    await Promise.resolve()
    while (queue.length > 0) {
      if (options.gather !== undefined && (crowded || queue.length > 1)) await options.gather()
      const batch = takeBatch()
      crowded = batch.length > 1
      if (batch.length > 0) await send(batch)
    }
    busy = false
  }

  return {
    get statements() {
      return statements
    },
    submitAll(items, signal) {
      if (items.length === 1 || signal !== undefined)
        return Promise.all(items.map((item) => this.submit(item, signal)))
      if (queue.length + items.length > options.maxQueue) {
        return Promise.reject(
          new LooseleafError(
            'SHARD_BUSY',
            `${options.name}: ${queue.length} calls are waiting already; this one was not sent.`,
          ),
        )
      }
      return new Promise<readonly Result[]>((resolve, reject) => {
        const results: Result[] = Array.from({ length: items.length })
        let left = items.length
        if (left === 0) return resolve(results)
        for (let i = 0; i < items.length; i++) {
          queue.push({
            item: items[i] as Item,
            resolve: (result) => {
              results[i] = result
              if (--left === 0) resolve(results)
            },
            reject,
          })
        }
        if (!busy) void drain()
      })
    },
    submit(item, signal) {
      if (signal?.aborted) return Promise.reject(abortedError(signal))
      if (queue.length >= options.maxQueue) {
        return Promise.reject(
          new LooseleafError(
            'SHARD_BUSY',
            `${options.name}: ${options.maxQueue} calls are waiting already; this one was not sent.`,
          ),
        )
      }
      return new Promise<Result>((resolve, reject) => {
        const waiting: Waiting<Item, Result> = { item, resolve, reject }
        if (signal !== undefined) rejectOnAbort(waiting, signal, drop)
        queue.push(waiting)
        if (!busy) void drain()
      })
    },
  }
}

function rejectOnAbort<Item, Result>(
  waiting: Waiting<Item, Result>,
  signal: AbortSignal,
  drop: (waiting: Waiting<Item, Result>) => void,
): void {
  const { resolve, reject } = waiting
  const onAbort = (): void => {
    drop(waiting)
    reject(abortedError(signal))
  }
  const settle = (): void => signal.removeEventListener('abort', onAbort)
  signal.addEventListener('abort', onAbort, { once: true })
  waiting.resolve = (result) => (settle(), resolve(result))
  waiting.reject = (error) => (settle(), reject(error))
}

function wrongCount(name: string, items: number, results: number): LooseleafError {
  return new LooseleafError(
    'STATEMENT_FAILED',
    `${name}: ${items} items were sent, ${results} results came back.`,
    {
      unknownOutcome: true,
    },
  )
}

function mayBeOneRow(error: unknown): boolean {
  if (!isLooseleafError(error)) return false
  return !error.retryable && !error.unknownOutcome && error.code !== 'ABORTED' && error.code !== 'CLOSED'
}
