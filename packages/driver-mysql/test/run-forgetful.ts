import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { bundleOf } from '@looseleaf-tooling/vitest/bundle'
import { onTestFinished } from 'vitest'

const PROGRAM = await bundleOf(new URL('./forgetful-process.ts', import.meta.url))

/** Runs the process until it ends by itself. Its idle connections would stay open for an hour. */
export async function runForgetful(...args: readonly string[]): Promise<{ said: string; code: unknown }> {
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [said, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  return { said, code }
}

/** Result of a process that has done its work and ended. */
export const ended = { said: 'done\n', code: 0 }
