import { isError } from '@looseleaf/core/internal'

/** Names of the errors that JavaScript itself throws. Databases and their clients throw others. */
const JAVASCRIPT_ERRORS: ReadonlySet<string> = new Set([
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
])

export interface ClientFailure {
  readonly message: string
  /** Has the name and the stack of the error, and not its message, which may contain values. */
  readonly cause: Error
}

/**
 * Describes an error that JavaScript threw inside the database client; undefined for every other error, and for each with a
 * `code` or `errno`, which Node and the clients set. Such an error says nothing about the server, so a driver must not take it
 * for a lost connection.
 */
export function clientFailure(error: unknown): ClientFailure | undefined {
  if (!isError(error) || !JAVASCRIPT_ERRORS.has(error.name) || 'code' in error || 'errno' in error)
    return undefined
  const cause = new Error(error.name)
  cause.stack = [error.name, ...(error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))].join(
    '\n',
  )
  const message =
    error.name === 'EvalError'
      ? 'the client of the database builds functions from strings, which Node does not allow here. Start Node without --disallow-code-generation-from-strings.'
      : `the client of the database failed with the error ${error.name}. The fault is in the program or the client, not in the database.`
  return { message, cause }
}
