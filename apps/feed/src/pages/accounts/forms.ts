import { z } from 'zod'
import type { Taken } from '../../domain/accounts/commands.ts'
import { isAddress, nameProblem, normalAddress, normalName } from '../../domain/accounts/names.ts'
import { PASSWORD_LENGTH } from '../../domain/accounts/passwords.ts'
import { MAX_ADDRESS } from '../../kinds/account.ts'
import { MAX_BIO, MAX_FULL_NAME } from '../../kinds/person.ts'
import { tidyLine, tidyText } from '../../text/plain-text.ts'

const name = z.string().transform((typed, { addIssue }) => {
  const text = normalName(typed)
  const problem = nameProblem(text)
  if (problem !== undefined) addIssue(problem)
  return text
})

const fullName = z
  .string()
  .transform((text) => tidyLine(text, Infinity))
  .refine((text) => text !== '', 'Type the name that people call you.')
  .refine((text) => text.length <= MAX_FULL_NAME, `A full name has at most ${MAX_FULL_NAME} characters.`)

const bio = z
  .string()
  .transform((text) => tidyText(text, Infinity))
  .refine((text) => text.length <= MAX_BIO, `This text has at most ${MAX_BIO} characters.`)

const address = z
  .string()
  .transform((text) => normalAddress(text) || undefined)
  .refine(
    (text) => text === undefined || (text.length <= MAX_ADDRESS && isAddress(text)),
    'This is no e-mail address, such as ann@example.org.',
  )

const { min, max } = PASSWORD_LENGTH
const newPassword = z
  .string()
  .refine((text) => text.length >= min, `A password has at least ${min} characters.`)
  .refine((text) => text.length <= max, `A password has at most ${max} characters.`)

export const joinForm = z.object({ name, full_name: fullName, address, password: newPassword })
export const profileForm = z.object({ full_name: fullName, bio })
export const addressForm = z.object({ address, password: z.string() })
export const passwordForm = z.object({ password: z.string(), next: newPassword })
export const deleteForm = z.object({ password: z.string() })

/** Errors for values that another person has. */
export const TAKEN: Readonly<Record<Taken, string>> = {
  name: 'Somebody has this name already.',
  address: 'Another account has this address already.',
}
