import { z } from 'zod'
import { tidyText } from '../../text/plain-text.ts'

/** Schema of a required text, without needless white space. `noun` names the thing in the message for a text that is too long. */
export function textField(noun: string, maxLength: number): z.ZodType<string, string> {
  return z
    .string()
    .transform((text) => tidyText(text, Infinity))
    .refine((text) => text !== '', { error: 'Write a few words first.', abort: true })
    .refine((text) => text.length <= maxLength, {
      error: ({ input }) =>
        `${noun} has at most ${maxLength} characters; this one has ${String(input).length}.`,
    })
}
