import { AsyncLocalStorage } from 'node:async_hooks'
import {
  guarded,
  isLooseleafError,
  type BegunCall,
  type Observer,
  type StatementListener,
  type StoreEvents,
  type WorkFor,
} from '@looseleaf/core'
import { logStatement, type CallLog, type SlowCalls } from './slow-calls.ts'
import { createTraceLog, type OpenCall, type Trace, type TraceLog } from './trace.ts'

/** Tells an observer, and the traces that are open, what a store does. While there is neither, nothing is made or measured. */
export interface Observing extends StoreEvents {
  /** For the driver. */
  readonly statements: StatementListener
  /** For the lanes. */
  readonly workFor: WorkFor
  /** Does the work of a call, which is told while `isWanted`. */
  call<T>(call: BegunCall, work: () => Promise<T>): Promise<T>
  /**
   * The same items, as one call from the first one that is asked for while `isWanted` until the end. It is in every trace in
   * which an item is asked for.
   */
  each<T>(call: BegunCall, items: AsyncIterable<T>): AsyncIterable<T>
  trace<T>(work: (trace: Trace) => Promise<T>): Promise<T>
}

/** A call that is under way, as long as somebody wants to know. */
interface CallUnderWay {
  readonly call: BegunCall
  readonly startedAt: number
  readonly token: unknown
  /** The traces that it is part of, one within the other, and the call in each. */
  readonly traced: Map<TraceLog, OpenCall>
  /** Its statements, for as long as it may turn out to be slow. */
  readonly log: CallLog | undefined
}

const NOBODY: readonly CallUnderWay[] = []
const NO_TRACES: readonly TraceLog[] = []

/** `onFault` takes what the observer has thrown, the first time. */
export function createObserving(
  observer: Observer | undefined,
  onFault: (error: unknown) => void,
  slowCalls?: SlowCalls,
): Observing {
  const working = new AsyncLocalStorage<readonly CallUnderWay[]>()
  const tracing = new AsyncLocalStorage<readonly TraceLog[]>()
  let openTraces = 0
  let hasFailed = false

  const isAlwaysWanted = observer !== undefined || slowCalls !== undefined
  const isWanted = (): boolean => isAlwaysWanted || openTraces > 0

  const guard = <T>(work: () => T): T | undefined => guarded(work, failed)

  function failed(error: unknown): void {
    if (!hasFailed) onFault(error)
    hasFailed = true
  }

  /** The traces of these calls, with those calls that are in each. */
  function tracesOf(calls: readonly CallUnderWay[]): Map<TraceLog, OpenCall[]> {
    const traces = new Map<TraceLog, OpenCall[]>()
    for (const { traced } of calls) {
      for (const [log, call] of traced) {
        const own = traces.get(log)
        if (own === undefined) traces.set(log, [call])
        else own.push(call)
      }
    }
    return traces
  }

  const tokensOf = (calls: readonly CallUnderWay[]): unknown[] => calls.map(({ token }) => token)

  /** `log`: where it is to be told when it was slow. */
  function begin(call: BegunCall, log?: CallLog): CallUnderWay {
    const startedAt = performance.now()
    const under = { call, startedAt, token: guard(() => observer?.callBegan?.(call)), traced: new Map(), log }
    joinTraces(under)
    return under
  }

  /** Has the call be in the traces that are open around what is done now. */
  function joinTraces({ call, startedAt, traced }: CallUnderWay): void {
    for (const log of tracing.getStore() ?? NO_TRACES)
      if (!traced.has(log)) traced.set(log, log.begin(call, startedAt))
  }

  function end({ call, startedAt, token, traced, log }: CallUnderWay, failure: OpenCall['failure']): void {
    const durationMs = performance.now() - startedAt
    for (const own of traced.values()) Object.assign(own, { durationMs, failure })
    guard(() => observer?.callEnded?.({ ...call, startedAt, durationMs, failure }, token))
    if (log !== undefined) slowCalls?.ended({ ...call, startedAt, durationMs, failure }, log)
  }

  async function observed<T>(call: BegunCall, work: () => Promise<T>): Promise<T> {
    const under = begin(call, slowCalls && { statements: [], more: 0 })
    let failure: OpenCall['failure']
    try {
      return await working.run([under], work)
    } catch (error) {
      failure = failureOf(error)
      throw error
    } finally {
      end(under, failure)
    }
  }

  function iterate<T>(call: BegunCall, items: AsyncIterator<T>): AsyncIterator<T> {
    let under: CallUnderWay | undefined

    function ended(failure?: OpenCall['failure']): void {
      if (under !== undefined) end(under, failure)
      under = undefined
    }

    async function next(): Promise<IteratorResult<T>> {
      under ??= begin(call)
      joinTraces(under)
      try {
        const result = await working.run([under], () => items.next())
        if (result.done) ended()
        return result
      } catch (error) {
        ended(failureOf(error))
        throw error
      }
    }

    return {
      next: () => (under !== undefined || isWanted() ? next() : items.next()),
      // Whoever leaves the loop early has had what was wanted.
      async return() {
        ended()
        await items.return?.()
        return { done: true, value: undefined }
      },
    }
  }

  return {
    get isWanted() {
      return isWanted()
    },
    statements: {
      get isListening() {
        return isWanted()
      },
      sent(statement) {
        const calls = working.getStore() ?? NOBODY
        if (slowCalls !== undefined)
          for (const { log } of calls) if (log !== undefined) logStatement(log, statement, calls.length - 1)
        for (const [log, own] of tracesOf(calls)) log.sent(statement, own, calls.length - own.length)
        guard(() => observer?.statementSent?.(statement, tokensOf(calls)))
      },
    },
    workFor: {
      get isWanted() {
        return isWanted()
      },
      current: () => working.getStore(),
      run(ones, work) {
        const calls = new Set<CallUnderWay>()
        for (const each of ones as ReadonlySet<readonly CallUnderWay[] | undefined>) {
          for (const call of each ?? NOBODY) calls.add(call)
        }
        return working.run([...calls], work)
      },
    },
    call: observed,
    each: (call, items) => ({ [Symbol.asyncIterator]: () => iterate(call, items[Symbol.asyncIterator]()) }),
    happened(event) {
      if (!isWanted()) return
      const calls = working.getStore() ?? NOBODY
      for (const log of tracesOf(calls).keys()) log.happened(event)
      guard(() => observer?.happened?.(event, tokensOf(calls)))
    },
    detached: (work) => working.exit(() => tracing.exit(work)),
    async trace(work) {
      const log = createTraceLog()
      openTraces++
      try {
        return await tracing.run([...(tracing.getStore() ?? NO_TRACES), log], () => work(log.trace))
      } finally {
        openTraces--
        log.end()
      }
    },
  }
}

function failureOf(error: unknown): OpenCall['failure'] {
  return isLooseleafError(error) ? error.code : 'UNKNOWN'
}
