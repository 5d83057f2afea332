import { createInterface } from 'node:readline'
import { abortedError, LooseleafError } from '@looseleaf/core'
import type { Session } from './session.ts'

/**
 * Asks whether something is meant, and answers that; the end of the input (Ctrl-D) is a no. With `yes` nobody is asked.
 * Throws `BAD_OPTION` where there is nobody to be asked, and `ABORTED` for Ctrl-C.
 */
export async function confirm(
  { console, output, signal }: Session,
  question: string,
  yes: boolean | undefined,
): Promise<boolean> {
  if (yes === true) return true
  const { stdin, stderr } = console
  if (output.json || stdin.isTTY !== true) {
    throw new LooseleafError('BAD_OPTION', `${question} There is no terminal to ask at: give --yes.`)
  }
  const lines = createInterface({ input: stdin, output: stderr, signal })
  let answer: string | undefined
  try {
    answer = await new Promise<string | undefined>((resolve, reject) => {
      lines.once('line', resolve)
      lines.once('close', () => (signal.aborted ? reject(abortedError(signal)) : resolve(undefined)))
      // The terminal hands over its keys meanwhile, so Ctrl-C comes here and not as a signal.
      lines.once('SIGINT', () => reject(abortedError(signal)))
      lines.setPrompt(`${question} [y/N] `)
      lines.prompt()
    })
  } finally {
    lines.close()
    // Nobody has ended the line of the question.
    if (answer === undefined) stderr.write('\n')
  }
  return answer !== undefined && /^\s*y(es)?\s*$/i.test(answer)
}
