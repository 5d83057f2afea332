import { createInterface } from 'node:readline/promises'
import { LooseleafError } from '@looseleaf/core'
import type { Session } from './session.ts'

/**
 * Asks whether something is meant, and answers that. With `yes` nobody is asked. Throws `BAD_OPTION` where there is nobody to
 * be asked.
 */
export async function confirm(
  { console, output, signal }: Session,
  question: string,
  yes: boolean | undefined,
): Promise<boolean> {
  if (yes === true) return true
  const { stdin, stderr } = console
  if (output.json || stdin.isTTY !== true) {
    throw new LooseleafError('BAD_OPTION', `${question} There is no terminal to answer at: say --yes.`)
  }
  const lines = createInterface({ input: stdin, output: stderr })
  try {
    return /^\s*y(es)?\s*$/i.test(await lines.question(`${question} [y/N] `, { signal }))
  } finally {
    lines.close()
  }
}
