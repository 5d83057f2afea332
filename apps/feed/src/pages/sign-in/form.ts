import { z } from 'zod'
import { normalName } from '../../domain/accounts/names.ts'
import { backPath } from '../../http/back-path.ts'

/** Returns the path to redirect to after signing in or joining. It is never a page of either. */
export function backFromSignIn(text: unknown): string {
  const path = backPath(typeof text === 'string' ? text : undefined)
  return /^\/(?:sign-in|join)(?:[/?#]|$)/.test(path) ? '/' : path
}

/** The form of the sign-in page. */
export const signInForm = z.object({
  /** Name or e-mail address. It is cut before it is normalized, because attempts are counted by the normal name. */
  name: z
    .string()
    .transform((text) => normalName(text.slice(0, 300)))
    .refine((name) => name !== '', 'Type your name or address, or choose a person below.'),
  password: z.string(),
})
