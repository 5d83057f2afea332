import { boundMemory } from './running/bound-memory.ts'
import { exitCodes } from './running/exit-codes.ts'
import { nodeComplaint } from './running/node-version.ts'
import { OutputError } from './output/output-error.ts'

/**
 * Runs the command with the arguments of this process, and ends the process with its exit code. Timers, pools and sockets
 * that a config file has opened do not keep the process alive. Call it only from the main module of a process.
 */
export async function main(): Promise<void> {
  const complaint = nodeComplaint(process.versions.node)
  if (complaint !== undefined) {
    process.stderr.write(`Error: ${complaint}\n`)
    process.exit(exitCodes.usage)
  }
  boundMemory()
  // Imported after the check of the version: an older Node may fail to parse these modules.
  const { runProgram } = await import('./program.ts')

  const stop = new AbortController()

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // The first signal lets the command end in order. The second one ends the process at once.
      if (stop.signal.aborted) process.exit(exitCodes.interrupted)
      stop.abort()
    })
  }
  // A terminal that closes sends several, so a second one does not cut the end short.
  process.on('SIGHUP', () => stop.abort())

  process.stdout.on('error', (error) => stop.abort(new OutputError('The output', error)))
  // An error of stderr cannot be shown anywhere.
  process.stderr.on('error', () => {})

  const { stdin, stdout, stderr, env } = process
  const code = await runProgram(process.argv.slice(2), {
    stdin,
    stdout,
    stderr,
    env,
    cwd: process.cwd(),
    signal: stop.signal,
  })
  // Terminals and pipes are written asynchronously on some systems.
  await new Promise<void>((resolve) => stderr.write('', () => resolve()))
  // `--help` and `--version` print without an action that would report the error.
  const isOutputLost =
    code === exitCodes.ok && stop.signal.reason instanceof OutputError && !stop.signal.reason.isReaderGone
  if (isOutputLost) process.stderr.write(`Error: ${stop.signal.reason.message}\n`)
  process.exit(isOutputLost ? exitCodes.output : code)
}
