import { AsyncLocalStorage } from 'node:async_hooks'
import {
  guardedMethod,
  isLooseleafError,
  type BegunCall,
  type Observer,
  type StatementListener,
  type StoreEvents,
  type WorkFor,
  platformTime,
} from '@looseleaf/core'
import { logStatement, type CallLog, type SlowCalls } from './slow-calls.ts'
import { createTraceLog, type OpenCall, type Trace, type TraceLog } from './trace.ts'

/** Tells an observer, and the traces that are open, what a store does. While there is neither, nothing is made or measured. */
export interface Observing extends StoreEvents {
  /** For the driver. */
  readonly statements: StatementListener
  /** For the lanes. */
  readonly workFor: WorkFor
  /** A call begins. Undefined while nobody listens. */
  begin(name: string, index: string | undefined): CallUnderWay | undefined
  /** Does the work of a call that has begun: what is sent meanwhile is its own. */
  within<T>(under: CallUnderWay, work: () => T): T
  /** A call has ended; `failed` is what it has thrown. */
  end(under: CallUnderWay, failed?: { readonly error: unknown }): void
  /**
   * The same items, as one call from the first one that is asked for while `isWanted` until the end. It is in every trace in
   * which an item is asked for.
   */
  each<T>(call: BegunCall, items: AsyncIterable<T>): AsyncIterable<T>
  trace<T>(work: (trace: Trace) => Promise<T>): Promise<T>
}

/** A call that is under way, as long as somebody wants to know. */
export interface CallUnderWay extends BegunCall {
  readonly startedAt: number
  readonly token: unknown
  /** The traces that it is part of, one within the other, and the call in each; undefined where it is in none. */
  traced: Map<TraceLog, OpenCall> | undefined
  /** Its statements, for as long as it may turn out to be slow. */
  readonly log: CallLog | undefined
}

/** For whom an asynchronous context works. */
interface Work {
  readonly calls: readonly CallUnderWay[]
  /** So many calls beside them, of which nobody wants to know more. */
  readonly more: number
}

const NOBODY: Work = { calls: [], more: 0 }
const NO_TRACES: readonly TraceLog[] = []

/** `onFault` takes what the observer has thrown, the first time. */
export function createObserving(
  observer: Observer | undefined,
  onFault: (error: unknown) => void,
  slowCalls?: SlowCalls,
): Observing {
  const working = new AsyncLocalStorage<Work | undefined>()
  const tracing = new AsyncLocalStorage<readonly TraceLog[]>()
  let openTraces = 0
  let hasFailed = false

  const isAlwaysWanted = observer !== undefined || slowCalls !== undefined
  const isWanted = (): boolean => isAlwaysWanted || openTraces > 0

  const tell = <A extends unknown[], T>(told: (...args: A) => T, ...args: A): T | undefined =>
    guardedMethod(observerFailed, observer, told, ...args)

  function observerFailed(error: unknown): void {
    if (!hasFailed) onFault(error)
    hasFailed = true
  }

  /** The traces of these calls, with those calls that are in each. */
  function tracesOf(calls: readonly CallUnderWay[]): Map<TraceLog, OpenCall[]> {
    const traces = new Map<TraceLog, OpenCall[]>()
    for (const { traced } of calls) {
      if (traced === undefined) continue
      for (const [log, call] of traced) {
        const own = traces.get(log)
        if (own === undefined) traces.set(log, [call])
        else own.push(call)
      }
    }
    return traces
  }

  const tokensOf = (calls: readonly CallUnderWay[]): unknown[] =>
    calls.flatMap(({ token }) => (token === undefined ? [] : [token]))

  /** Does the work of a call. A context of its own costs as much as the rest of this, so only those have one that are to be told apart. */
  function within<T>(under: CallUnderWay, work: () => T): T {
    const { token, traced, log } = under
    if (token !== undefined || traced !== undefined || log !== undefined)
      return working.run({ calls: [under], more: 0 }, work)
    return working.getStore() === undefined ? work() : working.run(undefined, work)
  }

  /** `log`: where it is to be told when it was slow. */
  function begin({ name, index }: BegunCall, log?: CallLog): CallUnderWay {
    const startedAt = platformTime.elapsed()
    const token = observer?.callBegan && tell(observer.callBegan, { name, index })
    const under: CallUnderWay = { name, index, startedAt, token, traced: undefined, log }
    joinTraces(under)
    return under
  }

  /** Has the call be in the traces that are open around what is done now. */
  function joinTraces(under: CallUnderWay): void {
    if (openTraces === 0) return
    const traced = (under.traced ??= new Map())
    for (const log of tracing.getStore() ?? NO_TRACES)
      if (!traced.has(log)) traced.set(log, log.begin(under, under.startedAt))
  }

  function end(
    { name, index, startedAt, token, traced, log }: CallUnderWay,
    failed?: { error: unknown },
  ): void {
    const failure = failed && failureOf(failed.error)
    const durationMs = platformTime.elapsed() - startedAt
    if (traced !== undefined) for (const own of traced.values()) Object.assign(own, { durationMs, failure })
    const ended = { name, index, startedAt, durationMs, failure }
    if (observer?.callEnded !== undefined) tell(observer.callEnded, ended, token)
    if (log !== undefined) slowCalls?.ended(ended, log)
  }

  function iterate<T>(call: BegunCall, items: AsyncIterator<T>): AsyncIterator<T> {
    let under: CallUnderWay | undefined

    function ended(failed?: { error: unknown }): void {
      if (under !== undefined) end(under, failed)
      under = undefined
    }

    async function next(): Promise<IteratorResult<T>> {
      under ??= begin(call)
      joinTraces(under)
      try {
        const result = await within(under, () => items.next())
        if (result.done) ended()
        return result
      } catch (error) {
        ended({ error })
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
        const { calls, more } = working.getStore() ?? NOBODY
        const all = calls.length + more
        if (slowCalls !== undefined)
          for (const { log } of calls) if (log !== undefined) logStatement(log, statement, all - 1)
        for (const [log, own] of tracesOf(calls)) log.sent(statement, own, all - own.length)
        if (observer?.statementSent !== undefined)
          tell(observer.statementSent, statement, tokensOf(calls), all)
      },
    },
    workFor: {
      get isWanted() {
        return isWanted()
      },
      current: () => working.getStore(),
      run(ones, more, work) {
        const calls = new Set<CallUnderWay>()
        let others = more
        for (const each of ones as ReadonlySet<Work>) {
          for (const call of each.calls) calls.add(call)
          others += each.more
        }
        return working.run({ calls: [...calls], more: others }, work)
      },
    },
    begin: (name, index) =>
      isWanted() ? begin({ name, index }, slowCalls && { statements: [], more: 0 }) : undefined,
    within,
    end,
    each: (call, items) => ({ [Symbol.asyncIterator]: () => iterate(call, items[Symbol.asyncIterator]()) }),
    happened(event) {
      if (!isWanted()) return
      const { calls } = working.getStore() ?? NOBODY
      for (const log of tracesOf(calls).keys()) log.happened(event)
      if (observer?.happened !== undefined) tell(observer.happened, event, tokensOf(calls))
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
