import { isLooseleafError } from 'looseleaf'
import { BadSetting } from './settings.ts'

/** Why the site could not be started, in one line for people; never with a password. */
export function describeStartError(error: unknown): string {
  if (error instanceof BadSetting) return error.message
  if (isLooseleafError(error)) {
    const hint = HINTS[error.code]
    const message = withoutCredentials(error.message)
    return hint === undefined ? message : `${message} ${hint}`
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'EADDRINUSE')
    return 'That port is taken by another program. Choose another one with --port, or leave it out.'
  if (code === 'EACCES') return 'That port may not be used by this user. Choose one above 1023.'
  return withoutCredentials(error instanceof Error ? error.message : String(error)).split('\n')[0] as string
}

const HINTS: Readonly<Record<string, string>> = {
  SHARD_UNAVAILABLE: 'Is the database of LOOSELEAF_SHARDS running, and is its address right?',
  SHARD_DENIED: 'Check the user, the password and the name of the database in LOOSELEAF_SHARDS.',
  LAYOUT_MISMATCH: 'LOOSELEAF_SHARDS has to name the same databases in the same order as before.',
}

/** Messages of the store hold none; this is for those of other libraries, which may quote an address. */
function withoutCredentials(text: string): string {
  return text.replace(/\/\/[^\s/@]*@/g, '//')
}
