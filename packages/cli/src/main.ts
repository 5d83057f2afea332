import { boundMemory } from './bound-memory.ts'
import { exitCodes } from './exit-codes.ts'
import { nodeComplaint } from './node-version.ts'
import { OutputError } from './output-error.ts'

/**
 * Runs the command with the arguments of this process, and ends the process with its exit code. Timers, pools and sockets that
 * a config file has opened do not keep it alive. Only a process's main module calls it.
 */
export async function main(): Promise<void> {
  const complaint = nodeComplaint(process.versions.node)
  if (complaint !== undefined) {
    process.stderr.write(`Error: ${complaint}\n`)
    process.exit(exitCodes.usage)
  }
  boundMemory()
  // Not before: what it loads may not even be read by an older Node.
  const { runProgram } = await import('./program.ts')

  const stop = new AbortController()

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // The first one lets the command end in order, the second one does not wait for it.
      if (stop.signal.aborted) process.exit(exitCodes.interrupted)
      stop.abort()
    })
  }

  process.stdout.on('error', (error) => stop.abort(new OutputError('The output', error)))
  // An error of stderr has no place where it could be told.
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
  // Help and versions are printed without an action that would have told of it.
  const isLost =
    code === exitCodes.ok && stop.signal.reason instanceof OutputError && !stop.signal.reason.isReaderGone
  if (isLost) process.stderr.write(`Error: ${stop.signal.reason.message}\n`)
  process.exit(isLost ? exitCodes.output : code)
}
