import { LooseleafError } from './errors.ts'

/**
 * Returns the same facts as an error of this call alone, whose stack leads on to the line of the program. The stack of a statement that several
 * calls share ends where the statement is sent, and all of these calls get the same error. Returns the error itself if it is no
 * LooseleafError, or an answer that the call has made.
 *
 * Use it in a `catch` of the asynchronous function whose promise the program awaits: V8 knows the callers only there.
 */
export function withCaller(error: unknown): unknown {
  if (!(error instanceof LooseleafError) || error.constructor !== LooseleafError || isOfCall(error))
    return error
  const { code, message, cause, fates } = error
  const own = Object.assign(new LooseleafError(code, message, { cause, fates }), error)
  const here: { readonly stack?: unknown } = {}
  Error.captureStackTrace(here, withCaller)
  const setStack = (value: unknown): void =>
    void Object.defineProperty(own, 'stack', { value, writable: true, configurable: true })
  // Formatting the two stacks may cost more than the call, so it waits until this one is read.
  return Object.defineProperty(own, 'stack', {
    get() {
      const stack = stackWith(error, String(here.stack))
      setStack(stack)
      return stack
    },
    set: setStack,
    configurable: true,
  })
}

/** Tells an answer, such as `ALREADY_EXISTS`, from the error of a statement or a signal. Its stack leads to the caller by itself. */
function isOfCall({ code, retryable, shard }: LooseleafError): boolean {
  return shard === undefined && !retryable && code !== 'ABORTED'
}

/** Returns the stack of the error, and below it the frames of `here` unless it leads to the last of them. */
function stackWith({ stack = '' }: Error, here: string): string {
  const callers = /\n {4}at [^]*$/.exec(here)?.[0] ?? ''
  return stack.includes(callers.slice(callers.lastIndexOf('\n'))) ? stack : stack + callers
}
