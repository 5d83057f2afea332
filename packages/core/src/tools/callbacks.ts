import { isPromise } from '../platform/kind-of-object.ts'

/** Options of a call whose functions are replaced by ones that the call waits for. */
export interface TakenCallbacks<Options> {
  readonly options: Options
  /** Resolves when every promise that the functions returned has settled; rejects with the first rejection. */
  settled(): Promise<void>
}

/**
 * Replaces the functions among the options of a call by ones that may be async, whatever their type says. Otherwise a
 * rejected promise that the call does not await would end the process. After a rejection, the next call of any of the
 * functions throws its error.
 */
export function takeCallbacks<Options extends object>(options: Options): TakenCallbacks<Options> {
  const pending = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | undefined

  const watch =
    (callback: (...args: unknown[]) => unknown) =>
    (...args: unknown[]): void => {
      if (failure !== undefined) throw failure.error
      const answer = callback(...args)
      if (!isPromise(answer)) return
      const settling = Promise.resolve(answer)
        .then(
          () => undefined,
          (error: unknown) => void (failure ??= { error }),
        )
        .finally(() => pending.delete(settling))
      pending.add(settling)
    }

  const entries = Object.entries(options) as [string, unknown][]
  return {
    options: entries.some(([, value]) => typeof value === 'function')
      ? (Object.fromEntries(
          entries.map(([name, value]) => [
            name,
            typeof value === 'function' ? watch(value as (...args: unknown[]) => unknown) : value,
          ]),
          // The same names with values of the same types.
        ) as Options)
      : options,
    async settled() {
      await Promise.all(pending)
      if (failure !== undefined) throw failure.error
    },
  }
}

/**
 * Makes a call, then waits for the promises of the functions among its options. Rejects if one of them does. Throws what `call` throws
 * before its first promise.
 */
export function withCallbacks<Options extends object, Result>(
  options: Options,
  call: (options: Options) => Promise<Result>,
): Promise<Result> {
  // Most calls have no functions, and need no further promise.
  const hasCallbacks = Object.values(options).some((value) => typeof value === 'function')
  return hasCallbacks ? untilSettled(options, call) : call(options)
}

async function untilSettled<Options extends object, Result>(
  options: Options,
  call: (options: Options) => Promise<Result>,
): Promise<Result> {
  const taken = takeCallbacks(options)
  const result = await call(taken.options)
  await taken.settled()
  return result
}

/** If a callback returned a promise, passes its rejection to `handle`. */
export function onRejected(answer: unknown, handle: (error: unknown) => void): void {
  if (isPromise(answer)) answer.then(undefined, handle)
}

/**
 * Calls foreign code whose faults must not fail the caller. Passes to `onFault` what the call throws or its promise
 * rejects with. Returns what the call returned; undefined if it threw.
 */
export function guarded<T>(call: () => T, onFault: (error: unknown) => void): T | undefined {
  return guardedMethod(onFault, undefined, call)
}

/** Like `guarded`, for a method and its arguments. Hot paths need no closure per call with it. */
export function guardedMethod<A extends unknown[], T>(
  onFault: (error: unknown) => void,
  owner: object | undefined,
  method: (...args: A) => T,
  ...args: A
): T | undefined {
  try {
    const answer = method.apply(owner, args)
    if (answer !== undefined) onRejected(answer, onFault)
    return answer
  } catch (error) {
    onFault(error)
    return undefined
  }
}
