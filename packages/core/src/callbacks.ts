/** Options of a call whose functions were replaced by ones that are waited for. */
export interface TakenCallbacks<Options> {
  readonly options: Options
  /** Resolves when every promise that the functions have given is over; rejects with the first that was rejected. */
  settled(): Promise<void>
}

/**
 * Takes the functions among the options of a call, which may be async whatever their type says: a promise that nobody
 * waits for would end the process when it rejects. Once one was rejected, the next call of any of them throws that.
 */
export function takeCallbacks<Options extends object>(options: Options): TakenCallbacks<Options> {
  const pending = new Set<Promise<void>>()
  let failure: { readonly error: unknown } | undefined

  const watch =
    (callback: (...args: unknown[]) => unknown) =>
    (...args: unknown[]): void => {
      if (failure !== undefined) throw failure.error
      const answer = callback(...args)
      if (!isThenable(answer)) return
      const over = Promise.resolve(answer)
        .then(
          () => undefined,
          (error: unknown) => void (failure ??= { error }),
        )
        .finally(() => pending.delete(over))
      pending.add(over)
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

/** Does a call with the functions among its options; it ends when their promises have ended, and fails with them. */
export async function withCallbacks<Options extends object, Result>(
  options: Options,
  call: (options: Options) => Promise<Result>,
): Promise<Result> {
  // Most calls have none, and are spared the wait.
  if (!Object.values(options).some((value) => typeof value === 'function')) return call(options)
  const taken = takeCallbacks(options)
  const result = await call(taken.options)
  await taken.settled()
  return result
}

/** Hands on what a callback's answer is rejected with, if it is a promise that nobody waits for. */
export function onRejected(answer: unknown, handle: (error: unknown) => void): void {
  if (isThenable(answer)) answer.then(undefined, handle)
}

/**
 * Calls what belongs to somebody else, whose faults are not the caller's: what it throws, or the promise that it answers rejects with, is
 * handed on. Answers what it answered; undefined where it threw.
 */
export function guarded<T>(call: () => T, onFault: (error: unknown) => void): T | undefined {
  return guardedMethod(onFault, undefined, call)
}

/** The same for a method and its arguments: for what is called so often that a function for each call would show. */
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

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | null | undefined)?.then === 'function'
}
