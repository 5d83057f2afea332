import { platformTime } from './platform-time.ts'
import { LooseleafError, isLooseleafError, type ErrorCode } from './errors.ts'
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
  /** Items that may be lined up. A call whose items do not fit waits for room, in its turn; as many calls may wait. */
  readonly maxQueue: number
  /** Milliseconds after which a call that still waits for room is refused with `SHARD_BUSY`. Default: 10,000. */
  readonly maxWaitMs?: number | undefined
  /** Two items of the same key never share a statement. */
  readonly keyOf?: ((item: Item) => string) | undefined
  /** Only items of one group share a statement. */
  readonly groupOf?: ((item: Item) => unknown) | undefined
  /** The weight of an item in bytes; a statement carries `maxBytes` at the most, or one item. */
  readonly bytesOf?: ((item: Item) => number) | undefined
  readonly maxBytes?: number | undefined
  /**
   * Awaited before a statement when several calls wait, or several went with one of those before: for the others that are
   * about to come. It may not reject, and should end within a few turns of the event loop. A call that is alone, as those before it
   * were, is not held up by it; nor is a line with `enoughRows`.
   */
  readonly gather?: (() => Promise<void>) | undefined
  /**
   * Rows in the line from which on `gather` is not awaited: a statement then costs little for each of them, and the shard would stand idle
   * meanwhile. Those that cannot share the next statement count too. Default: it is awaited however many there are.
   */
  readonly enoughRows?: number | undefined
  /** Rows that an item stands for. Asked of items in the line before a statement, so it has to be quick. Default: one. */
  readonly rowsOf?: ((item: Item) => number) | undefined
  readonly workFor?: WorkFor | undefined
  /** Told when a statement of so many items was refused with this code, and is sent again in halves. May not throw. */
  readonly onHalved?: ((code: ErrorCode, items: number) => void) | undefined
}

/** Knows for whom work is done, so that a statement that several calls share can be told to be of each of them. */
export interface WorkFor {
  /** While false nobody wants to know, and neither of the others is called. */
  readonly isWanted: boolean
  /** For whom the present asynchronous context works; undefined for nobody in particular. */
  current(): unknown
  /** Does work for these, each as `current` gave it, for so many more that are nobody in particular, and for nobody else. */
  run<T>(ones: ReadonlySet<unknown>, more: number, work: () => T): T
}

/**
 * A lane gathers calls of one kind to one table of one shard into statements of many rows. One statement is in flight
 * at a time: a call that finds it idle goes out at once, and whatever arrives meanwhile goes out together with the next one. So the
 * rows per statement grow with the load, without any waiting on purpose but what `gather` adds: to calls that go together, and
 * to some that come soon after these, where they are few.
 *
 * Items line up, and the line has an end: beyond it, calls wait for room in the order in which they came, one of many items
 * until there is room for all of them. What holds up a lane's line is its own statements alone, so nobody waits for ever.
 *
 * Calls share a statement without knowing of each other, so what befalls the statement befalls them all, unless one of
 * them is to blame:
 * - An error that is permanent, and says that nothing was done, may come from one row. The batch is sent again in halves,
 *   one after the other, until the rows to blame fail alone; the others get their results, later than without it. From
 *   then on the batch is several statements, some of which may be done when another fails.
 * - Every other error goes to every call of its statement, as the same object, and nothing is sent again: one that may
 *   pass (`retryable`), because it is each caller's to say whether to try again; one with `unknownOutcome`, because a
 *   second attempt could do twice what was done; `ABORTED`, `CLOSED`, and what is wrong with a whole table or shard.
 * - A call whose signal fires fails alone. Calls that wait are not touched by the failure of the statement before them.
 */
export interface Lane<Item, Result> {
  /**
   * Rejects with `ABORTED` when the signal fires; an item already sent is not called back. With `SHARD_BUSY` where it was
   * not sent for want of room.
   */
  submit(item: Item, signal?: AbortSignal): Promise<Result>
  /**
   * As `submit` of each, with one promise for all. It settles when all have ended, so that nothing is on its way any more
   * but after `ABORTED`, which comes at once: their results in order, or the first error.
   */
  submitAll(items: readonly Item[], signal?: AbortSignal): Promise<readonly Result[]>
  /** Statements sent so far. */
  readonly statements: number
  /** Items that went with them. */
  readonly items: number
  /** Items of calls that wait to be sent, be it in the line or for room in it. */
  readonly waiting: number
}

/** A call, until its promise is settled. */
interface Call<Item, Result> {
  readonly items: readonly Item[]
  readonly results: Result[]
  /** For whom it is made, see `WorkFor`. */
  readonly one: unknown
  /** Items that have not ended. */
  left: number
  /** Whether its signal has fired. */
  isLeft: boolean
  failure: { readonly error: unknown } | undefined
  /** Nothing happens from the second time on. */
  resolve(results: Result[]): void
  reject(error: unknown): void
}

/** An item in the line. */
interface Waiting<Item, Result> {
  readonly item: Item
  readonly call: Call<Item, Result>
  /** Its place among the items of its call. */
  readonly place: number
}

const MAX_WAIT_MS = 10_000
/** Calls that go together come back in waves, and the first of a wave is alone. */
const CROWDED_STATEMENTS = 8

export function createLane<Item, Result>(options: LaneOptions<Item, Result>): Lane<Item, Result> {
  const { name, maxQueue, maxWaitMs = MAX_WAIT_MS, maxBatch, workFor } = options
  const takesInOrder =
    options.keyOf === undefined && options.groupOf === undefined && options.bytesOf === undefined
  let queue: Waiting<Item, Result>[] = []
  /** Calls that wait for room, in their order, with what ends their wait. */
  const outside = new Map<Call<Item, Result>, ReturnType<typeof platformTime.setTimeout>>()
  let busy = false
  /** Statements ahead for which others may be about to come: some have gone together a moment ago. */
  let crowded = 0
  let statements = 0
  let itemsSent = 0

  const hasRoom = ({ items }: Call<Item, Result>): boolean =>
    queue.length === 0 || queue.length + items.length <= maxQueue

  function lineUp(call: Call<Item, Result>): void {
    const { items } = call
    for (let place = 0; place < items.length; place++) queue.push({ item: items[place] as Item, call, place })
    if (!busy) void drain()
  }

  /** Lets those in who wait, as far as there is room now. */
  function admit(): void {
    for (const [call, timer] of outside) {
      if (!hasRoom(call)) return
      platformTime.clearTimeout(timer)
      outside.delete(call)
      lineUp(call)
    }
  }

  function enter(call: Call<Item, Result>): void {
    if (outside.size === 0 && hasRoom(call)) return lineUp(call)
    const refuse = (how: string): void =>
      call.reject(new LooseleafError('SHARD_BUSY', `${name}: ${how}; this call was not sent.`))
    if (outside.size >= maxQueue) return refuse(`${maxQueue} calls are waiting for room already`)
    const tooLong = (): void => {
      outside.delete(call)
      refuse(`there was no room for ${call.items.length} within ${maxWaitMs} milliseconds`)
      admit()
    }
    outside.set(call, platformTime.setTimeout(tooLong, maxWaitMs))
  }

  /** Takes a call out, where it would keep others from their turn; what was sent already is not there any more. */
  function leave(call: Call<Item, Result>): void {
    call.isLeft = true
    platformTime.clearTimeout(outside.get(call))
    outside.delete(call)
    queue = queue.filter((waiting) => waiting.call !== call)
    admit()
  }

  function takeBatch(): Waiting<Item, Result>[] {
    if (takesInOrder) return queue.splice(0, maxBatch)
    const batch: Waiting<Item, Result>[] = []
    const left: Waiting<Item, Result>[] = []
    const keys = new Set<string>()
    let group: unknown
    let bytes = 0
    let index = 0
    for (; index < queue.length && batch.length < maxBatch; index++) {
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

  /** Whether the line has `enoughRows`. */
  function hasEnough(): boolean {
    const { enoughRows = Infinity, rowsOf } = options
    if (rowsOf === undefined) return queue.length >= enoughRows
    let rows = 0
    for (let i = 0; i < queue.length && rows < enoughRows; i++) rows += rowsOf(queue[i]!.item)
    return rows >= enoughRows
  }

  function forAll<T>(batch: readonly Waiting<Item, Result>[], work: () => T): T {
    if (!workFor?.isWanted) return work()
    const ones = new Set<unknown>()
    let more = 0
    let previous: Call<Item, Result> | undefined
    for (const { call } of batch) {
      // The items of a call stand one behind the other.
      if (call === previous) continue
      previous = call
      if (call.one === undefined) more++
      else ones.add(call.one)
    }
    // The context here is that of whoever found the line empty.
    return workFor.run(ones, more, work)
  }

  async function send(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    statements++
    itemsSent += batch.length
    try {
      const items = batch.map((waiting) => waiting.item)
      const results = await forAll(batch, () => options.run(items))
      if (results.length !== batch.length) throw wrongCount(options.name, batch.length, results.length)
      for (let i = 0; i < batch.length; i++) {
        const { call, place } = batch[i] as Waiting<Item, Result>
        call.results[place] = results[i] as Result
        end(call)
      }
    } catch (error) {
      if (batch.length === 1 || !mayBeOneRow(error)) {
        for (const { call } of batch) end(call, { error })
        return
      }
      forAll(batch, () => options.onHalved?.(error.code, batch.length))
      // Nothing was changed, and one of the rows is to blame: halve until it fails alone.
      const half = batch.length >> 1
      await sendAgain(batch.slice(0, half))
      await sendAgain(batch.slice(half))
    }
  }

  /** But for those whose callers were told meanwhile that they are called off. */
  async function sendAgain(batch: readonly Waiting<Item, Result>[]): Promise<void> {
    const wanted = batch.filter(({ call }) => !call.isLeft)
    if (wanted.length > 0) await send(wanted)
  }

  async function drain(): Promise<void> {
    busy = true
    // Calls made in the same turn of the event loop travel together.
    await Promise.resolve()
    while (queue.length > 0) {
      const othersMayCome = crowded > 0 || isOfSeveral(queue)
      if (options.gather !== undefined && othersMayCome && !hasEnough()) await options.gather()
      const batch = takeBatch()
      crowded = isOfSeveral(batch) ? CROWDED_STATEMENTS : Math.max(0, crowded - 1)
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
    const one = workFor?.isWanted ? workFor.current() : undefined
    enter(
      signal === undefined
        ? makeCall(items, one, resolve, reject)
        : makeAbortable(items, one, resolve, reject, signal, leave),
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
      for (const call of outside.keys()) waiting += call.items.length
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

/** Whether several calls are in the line; each has its items side by side. */
function isOfSeveral<Item, Result>(line: readonly Waiting<Item, Result>[]): boolean {
  return line.length > 1 && line[0]!.call !== line.at(-1)!.call
}

/** One item of a call has ended. */
function end<Item, Result>(call: Call<Item, Result>, failure?: { readonly error: unknown }): void {
  call.failure ??= failure
  if (--call.left > 0) return
  if (call.failure === undefined) call.resolve(call.results)
  else call.reject(call.failure.error)
}

function makeCall<Item, Result>(
  items: readonly Item[],
  one: unknown,
  resolve: (results: Result[]) => void,
  reject: (error: unknown) => void,
): Call<Item, Result> {
  return { items, results: [], one, left: items.length, isLeft: false, failure: undefined, resolve, reject }
}

/** One that leaves when its signal fires. Its functions are not assigned to it later: V8 would make them among its old objects, see decision 47. */
function makeAbortable<Item, Result>(
  items: readonly Item[],
  one: unknown,
  resolve: (results: Result[]) => void,
  reject: (error: unknown) => void,
  signal: AbortSignal,
  leave: (call: Call<Item, Result>) => void,
): Call<Item, Result> {
  const settle = (): void => signal.removeEventListener('abort', onAbort)
  const call = makeCall<Item, Result>(
    items,
    one,
    (results) => (settle(), resolve(results)),
    (error) => (settle(), reject(error)),
  )
  function onAbort(): void {
    leave(call)
    reject(abortedError(signal))
  }
  signal.addEventListener('abort', onAbort, { once: true })
  return call
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

/** What is wrong with a whole table or shard, or with nobody's row. */
const OF_ALL: ReadonlySet<ErrorCode> = new Set([
  'ABORTED',
  'CLOSED',
  'INDEX_NOT_FOUND',
  'NOT_MIGRATED',
  'SHARD_DENIED',
])

function mayBeOneRow(error: unknown): error is LooseleafError {
  return isLooseleafError(error) && !error.retryable && !error.unknownOutcome && !OF_ALL.has(error.code)
}
