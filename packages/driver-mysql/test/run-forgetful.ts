import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

const PROGRAM = fileURLToPath(new URL('./forgetful-process.ts', import.meta.url))

/** Runs the process until it ends by itself. Its idle connections would stay open for an hour. */
export async function runForgetful(...args: readonly string[]): Promise<{ said: string; code: unknown }> {
  const child = spawn(process.execPath, ['--conditions=@looseleaf/source', PROGRAM, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { said, code }
}

/** Result of a process that has done its work and ended. */
export const ended = { said: 'done\n', code: 0 }
