import { boundMemory } from './bound-memory.ts'
import { READER_GONE } from './console.ts'
import { exitCodes } from './exit-codes.ts'
import { nodeComplaint } from './node-version.ts'

/** Runs the command with the arguments of this process, and sets its exit code. Only a process's main module calls it. */
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

  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    // Whoever read the output, such as `head`, has enough of it.
    stop.abort(READER_GONE)
  })

  const { stdin, stdout, stderr, env } = process
  process.exitCode = await runProgram(process.argv.slice(2), {
    stdin,
    stdout,
    stderr,
    env,
    cwd: process.cwd(),
    signal: stop.signal,
  })
  // An input that was not read to its end would keep the process waiting.
  stdin.destroy()
}
