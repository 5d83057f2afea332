import { NAME_LENGTH } from '../../kinds/person.ts'

/** Names that could be taken for an address or a role of the site. */
const RESERVED: ReadonlySet<string> = new Set(
  `about abuse account accounts admin administrator all anonymous api assets billing contact deleted everybody everyone
  feed feeds follow following former-member guest help home import imports info join legal likes looseleaf mail me moderator moderators
  nobody noreply no-reply official operator owner people post postmaster privacy public root sample search security
  session sessions settings sign-in sign-out sign-up site sources staff status store support sysadmin system team terms user users
  webmaster www you`.split(/\s+/),
)

/** Returns a name as it is stored: in lower case, without the space around it. */
export function normalName(text: string): string {
  return text.trim().toLowerCase()
}

/** Returns the reason why a normal name cannot be given to a new person; undefined if it can, unless another person has it. */
export function nameProblem(name: string): string | undefined {
  const { min, max } = NAME_LENGTH
  if (name.length < min || name.length > max) return `A name has ${min} to ${max} characters.`
  if (!/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(name))
    return 'A name has letters from a to z, digits, and single hyphens between them.'
  return RESERVED.has(name) ? 'This name is reserved. Choose another one.' : undefined
}

/** Returns an e-mail address as it is stored. Whole addresses are in lower case, because no mail host in use tells cases apart. */
export function normalAddress(text: string): string {
  return text.trim().toLowerCase()
}

export function isAddress(address: string): boolean {
  return /^[^\s@<>()",;:\\[\]]{1,64}@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(address)
}
