import { isLooseleafError } from 'looseleaf'
import { BadSetting } from './settings.ts'
import { messageOf } from './text/message-of.ts'

/** Describes why the site could not start, in one line without credentials. */
export function describeStartError(error: unknown): string {
  if (error instanceof BadSetting) return error.message
  if (isLooseleafError(error)) {
    const hint = HINTS[error.code]
    const message = withoutCredentials(error.message)
    return hint === undefined ? message : `${message} ${hint}`
  }
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code === 'EADDRINUSE')
    return 'That port is taken by another program. Choose another one with --port, or leave --port out.'
  if (code === 'EACCES') return 'That port may not be used by this user. Choose one above 1023.'
  return withoutCredentials(messageOf(error)).split('\n')[0] as string
}

const HINTS: Readonly<Record<string, string>> = {
  SHARD_UNAVAILABLE: 'Is the database of LOOSELEAF_SHARDS running, and is its address right?',
  SHARD_DENIED: 'Check the user, the password and the name of the database in LOOSELEAF_SHARDS.',
  LAYOUT_MISMATCH: 'LOOSELEAF_SHARDS has to name the same databases as before.',
}

/** Removes credentials from addresses. Messages of other libraries may quote an address; those of the store do not. */
function withoutCredentials(text: string): string {
  return text.replace(/\/\/[^\s/@]*@/g, '//')
}
