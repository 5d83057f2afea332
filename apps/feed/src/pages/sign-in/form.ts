import { z } from 'zod'
import { backPath } from '../../http/back-path.ts'

/** Returns the path to redirect to after signing in. It is never the sign-in page itself. */
export function backFromSignIn(text: string | undefined): string {
  const path = backPath(text)
  return /^\/sign-in(?:[/?#]|$)/.test(path) ? '/' : path
}

/** The form of the sign-in page. */
export const signInForm = z.object({
  name: z
    .string()
    .transform((text) => text.trim().replace(/\s+/g, ' '))
    .refine((name) => name !== '', 'Type a name, or choose a person below.'),
})
