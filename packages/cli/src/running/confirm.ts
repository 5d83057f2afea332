import { createInterface } from 'node:readline'
import { badOption, abortedError } from '@looseleaf/core/internal'
import type { Invocation } from './invocation.ts'

/**
 * Asks the user a question and returns the answer. The end of the input (Ctrl-D) means no. With `yes` it returns true
 * without asking. Throws `BAD_OPTION` when there is no terminal, or with `--json`, and `ABORTED` for Ctrl-C.
 */
export async function confirm(
  { console, output, signal }: Invocation,
  question: string,
  yes: boolean | undefined,
): Promise<boolean> {
  if (yes === true) return true
  const { stdin, stderr } = console
  if (output.json || stdin.isTTY !== true) {
    throw badOption(`${question} There is no terminal for the question: give --yes.`)
  }
  const lines = createInterface({ input: stdin, output: stderr, signal })
  let answer: string | undefined
  try {
    answer = await new Promise<string | undefined>((resolve, reject) => {
      lines.once('line', resolve)
      lines.once('close', () => (signal.aborted ? reject(abortedError(signal)) : resolve(undefined)))
      // readline sets the terminal to raw mode during the question, so Ctrl-C arrives here and not as a signal.
      lines.once('SIGINT', () => reject(abortedError(signal)))
      lines.setPrompt(`${question} [y/N] `)
      lines.prompt()
    })
  } finally {
    lines.close()
    // Ctrl-C and Ctrl-D leave the cursor on the line of the question.
    if (answer === undefined) stderr.write('\n')
  }
  return answer !== undefined && /^\s*y(es)?\s*$/i.test(answer)
}
