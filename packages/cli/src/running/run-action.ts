import { inspect } from 'node:util'
import { isLooseleafError, type LooseleafError } from '@looseleaf/core'
import { isError, messageOf } from '@looseleaf/core/internal'
import { inCommandWords } from '../output/command-words.ts'
import type { Console } from '../output/console.ts'
import { exitCodeOf, exitCodes, type ExitCode } from './exit-codes.ts'
import { createOutput, type Output } from '../output/output.ts'
import { IncompleteOutput, OutputError } from '../output/output-error.ts'
import { printable } from '../output/text.ts'
import { createInvocation, type CommonOptions, type Invocation } from './invocation.ts'

/** Work of a command. Returns its exit code; undefined means 0. */
export type Action = (invocation: Invocation) => Promise<ExitCode | void>

export type Runner = (options: CommonOptions, action: Action) => Promise<void>

export async function runAction(console: Console, options: CommonOptions, action: Action): Promise<ExitCode> {
  const output = createOutput(console, options.json === true)
  const invocation = createInvocation(console, output, options)
  let code: ExitCode
  try {
    code = (await action(invocation)) ?? exitCodes.ok
    await output.flush()
  } catch (error) {
    code = report(console, output, error, options.debug === true)
  }
  try {
    await invocation.close()
  } catch (error) {
    if (code === exitCodes.ok) code = report(console, output, error, options.debug === true)
  }
  return code
}

/** Prints an error as one line (one line of JSON with `--json`) and returns its exit code. */
function report(console: Console, output: Output, thrown: unknown, debug: boolean): ExitCode {
  const isIncomplete = thrown instanceof IncompleteOutput
  const cause = isIncomplete ? thrown.cause : thrown
  const { reason } = console.signal
  // A stream or a driver that the signal has ended throws an error of its own.
  const error = reason instanceof OutputError ? reason : cause
  const known = isLooseleafError(error)
  const prefix = isIncomplete ? `${thrown.message} ` : ''
  if (error instanceof OutputError) {
    if (error.isReaderGone && !isIncomplete) return exitCodes.ok
    const message = `${prefix}${error.message}`
    if (output.json) writeError(console, { code: 'OUTPUT_FAILED', message, retryable: false })
    else console.stderr.write(`${output.colors.red('Error:')} ${printable(message)}\n`)
    return exitCodes.output
  }
  if (console.signal.aborted || (known && error.code === 'ABORTED')) {
    const message = `${prefix}Stopped.`
    if (output.json) writeError(console, { code: 'ABORTED', message, retryable: false })
    else output.note(message)
    return exitCodes.interrupted
  }
  const message = prefix + redact(inCommandWords(messageOf(error)))
  if (output.json) {
    const { code, retryable = false, ...about }: Partial<LooseleafError> = known ? error : {}
    const { shard, entity, index, holder } = about
    writeError(console, { code: code ?? 'UNEXPECTED', message, retryable, shard, entity, index, holder })
  } else {
    const advice = known || debug ? '' : ' (Unexpected; --debug shows where it comes from.)'
    console.stderr.write(`${output.colors.red('Error:')} ${printable(message)}${advice}\n`)
  }
  if (debug) console.stderr.write(`${redact(traceOf(error))}\n`)
  return known ? exitCodeOf(error) : exitCodes.unexpected
}

function writeError(console: Console, error: object): void {
  console.stderr.write(`${JSON.stringify({ error })}\n`)
}

/** Returns the stacks of an error and its causes. Leaves out their other properties, which may hold statements and values. */
function traceOf(error: unknown): string {
  const traces: string[] = []
  for (let current = error, depth = 0; current !== undefined && depth < 5; depth++) {
    traces.push(isError(current) ? (current.stack ?? current.message) : inspect(typeof current))
    current = isError(current) ? current.cause : undefined
  }
  return traces.join('\ncaused by ')
}

/** Removes user and password from the URLs in a message. */
export function redact(text: string): string {
  return text.replaceAll(/([a-z][a-z0-9+.-]*:\/\/)[^\s/"'`]*@/gi, '$1…@')
}
