import { AsyncLocalStorage } from 'node:async_hooks'
import { isLooseleafError, type BegunCall, type Observer } from '@looseleaf/core'
import {
  guardedMethod,
  platformTime,
  type StatementListener,
  type StoreEvents,
  type WorkFor,
} from '@looseleaf/core/internal'
import { logStatement, type CallLog, type SlowCalls } from './slow-calls.ts'
import { createTraceLog, type OpenCall, type Trace, type TraceLog } from './trace.ts'

/** Reports calls, statements and events to the observer and the open traces. Without an observer and traces it measures nothing. */
export interface Observing extends StoreEvents {
  readonly statements: StatementListener
  readonly workFor: WorkFor
  /** Reports the beginning of a call. Returns undefined while nothing observes. */
  begin(name: string, index: string | undefined): CallUnderWay | undefined
  /** Runs the work of a call, and attributes statements sent by it to the call. */
  within<T>(call: CallUnderWay, work: () => T): T
  /** Reports the end of a call; `failed` has the error that it threw. */
  end(call: CallUnderWay, failed?: { readonly error: unknown }): void
  /**
   * Returns the same items, reported as one call from the first item requested while `isWanted` to the end. The call is in every trace
   * within which an item is requested.
   */
  each<T>(call: BegunCall, items: AsyncIterable<T>): AsyncIterable<T>
  trace<T>(work: (trace: Trace) => Promise<T>): Promise<T>
}

export interface CallUnderWay extends BegunCall {
  readonly startedAt: number
  readonly token: unknown
  /** Its record in each trace that it is part of; undefined if it is in none. */
  traced: Map<TraceLog, OpenCall> | undefined
  /** Its statements, kept in case the call is slow. */
  readonly log: CallLog | undefined
}

/** The calls that an asynchronous context works for. */
interface Work {
  readonly calls: readonly CallUnderWay[]
  /** Number of other calls, which nothing observes. */
  readonly more: number
}

const NO_WORK: Work = { calls: [], more: 0 }
const NO_TRACES: readonly TraceLog[] = []

/** Makes the reporting of a store. `onFault` receives the first error that the observer throws. */
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

  const notify = <A extends unknown[], T>(method: (...args: A) => T, ...args: A): T | undefined =>
    guardedMethod(observerFailed, observer, method, ...args)

  function observerFailed(error: unknown): void {
    if (!hasFailed) onFault(error)
    hasFailed = true
  }

  /** Returns the traces of these calls, each with its records of them. */
  function tracesOf(calls: readonly CallUnderWay[]): Map<TraceLog, OpenCall[]> {
    const traces = new Map<TraceLog, OpenCall[]>()
    for (const { traced: records } of calls) {
      if (records === undefined) continue
      for (const [log, call] of records) {
        const traced = traces.get(log)
        if (traced === undefined) traces.set(log, [call])
        else traced.push(call)
      }
    }
    return traces
  }

  const tokensOf = (calls: readonly CallUnderWay[]): unknown[] =>
    calls.flatMap(({ token }) => (token === undefined ? [] : [token]))

  /** Runs the work of a call, in an asynchronous context only if statements are attributed to it: a context costs as much as all else here. */
  function within<T>(call: CallUnderWay, work: () => T): T {
    const { token, traced, log } = call
    if (token !== undefined || traced !== undefined || log !== undefined)
      return working.run({ calls: [call], more: 0 }, work)
    return working.getStore() === undefined ? work() : working.run(undefined, work)
  }

  /** Begins a call. `log` collects its statements, for slow calls. */
  function begin({ name, index }: BegunCall, log?: CallLog): CallUnderWay {
    const startedAt = platformTime.elapsed()
    const token = observer?.callBegan && notify(observer.callBegan, { name, index })
    const call: CallUnderWay = { name, index, startedAt, token, traced: undefined, log }
    joinTraces(call)
    return call
  }

  /** Adds the call to the traces of the current asynchronous context. */
  function joinTraces(call: CallUnderWay): void {
    if (openTraces === 0) return
    const traced = (call.traced ??= new Map())
    for (const log of tracing.getStore() ?? NO_TRACES)
      if (!traced.has(log)) traced.set(log, log.begin(call, call.startedAt))
  }

  function end(
    { name, index, startedAt, token, traced, log }: CallUnderWay,
    failed?: { error: unknown },
  ): void {
    const failure: OpenCall['failure'] =
      failed && (isLooseleafError(failed.error) ? failed.error.code : 'UNKNOWN')
    const durationMs = platformTime.elapsed() - startedAt
    if (traced !== undefined)
      for (const record of traced.values()) Object.assign(record, { durationMs, failure })
    const ended = { name, index, startedAt, durationMs, failure }
    if (observer?.callEnded !== undefined) notify(observer.callEnded, ended, token)
    if (log !== undefined) slowCalls?.ended(ended, log)
  }

  function iterate<T>(call: BegunCall, items: AsyncIterator<T>): AsyncIterator<T> {
    let current: CallUnderWay | undefined

    function ended(failed?: { error: unknown }): void {
      if (current !== undefined) end(current, failed)
      current = undefined
    }

    async function next(): Promise<IteratorResult<T>> {
      current ??= begin(call)
      joinTraces(current)
      try {
        const result = await within(current, () => items.next())
        if (result.done) ended()
        return result
      } catch (error) {
        ended({ error })
        throw error
      }
    }

    return {
      next: () => (current !== undefined || isWanted() ? next() : items.next()),
      // A loop that breaks early counts as a call without a failure.
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
        const { calls, more } = working.getStore() ?? NO_WORK
        const all = calls.length + more
        if (slowCalls !== undefined)
          for (const { log } of calls) if (log !== undefined) logStatement(log, statement, all - 1)
        for (const [log, traced] of tracesOf(calls)) log.sent(statement, traced, all - traced.length)
        if (observer?.statementSent !== undefined)
          notify(observer.statementSent, statement, tokensOf(calls), all)
      },
    },
    workFor: {
      get isWanted() {
        return isWanted()
      },
      current: () => working.getStore(),
      run(works, more, work) {
        const calls = new Set<CallUnderWay>()
        let others = more
        for (const each of works as ReadonlySet<Work>) {
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
      const { calls } = working.getStore() ?? NO_WORK
      for (const log of tracesOf(calls).keys()) log.happened(event)
      if (observer?.happened !== undefined) notify(observer.happened, event, tokensOf(calls))
    },
    entitiesRead(entities, isComplete) {
      if (openTraces === 0) return
      for (const log of tracesOf((working.getStore() ?? NO_WORK).calls).keys())
        log.entitiesRead(entities, isComplete)
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
