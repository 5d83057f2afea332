import { isError } from '@looseleaf/core'

/** Errors that JavaScript itself throws; databases and their clients throw others. */
const OF_PROGRAMS: ReadonlySet<string> = new Set([
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
])

export interface ClientFailure {
  readonly message: string
  /** Names the error and has its stack; without its message, which may hold values. */
  readonly cause: Error
}

/**
 * Describes an error by which the database's client broke in this process. Such an error says nothing of the database, and must
 * not look like a lost connection. Undefined for every other error; one with a code is Node's or the client's own.
 */
export function clientFailure(error: unknown): ClientFailure | undefined {
  if (!isError(error) || !OF_PROGRAMS.has(error.name) || 'code' in error || 'errno' in error) return undefined
  const cause = new Error(error.name)
  cause.stack = [error.name, ...(error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line))].join(
    '\n',
  )
  const message =
    error.name === 'EvalError'
      ? 'the client of the database builds functions from strings, which Node does not allow here. Start Node without --disallow-code-generation-from-strings.'
      : `the client of the database failed with a ${error.name}. That is a fault of the program or of the client, and not of the database.`
  return { message, cause }
}
