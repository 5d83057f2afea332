import { LooseleafError } from './errors.ts'

/**
 * Returns the same facts as an error of this call alone, whose stack leads on to the line of the program. Returns the error itself if its stack
 * does so, or if it is no LooseleafError. The stack of a statement that several calls share ends where the statement is sent, and all of
 * these calls get the same error.
 *
 * Use it in a `catch` of the asynchronous function whose promise the program awaits: V8 knows the callers only there.
 */
export function withCaller(error: unknown): unknown {
  if (!(error instanceof LooseleafError) || error.constructor !== LooseleafError) return error
  const here: { readonly stack?: unknown } = {}
  Error.captureStackTrace(here, withCaller)
  const callers = /\n {4}at [^]*$/.exec(String(here.stack))?.[0]
  const { stack = '', cause, fates } = error
  if (callers === undefined || stack.includes(callers.slice(callers.lastIndexOf('\n')))) return error
  const own = new LooseleafError(error.code, error.message, { cause, fates })
  return Object.assign(own, error, { stack: stack + callers })
}
