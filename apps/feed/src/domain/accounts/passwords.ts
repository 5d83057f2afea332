import * as crypto from 'node:crypto'
import { promisify } from 'node:util'
import type { PasswordHash } from '../../kinds/account.ts'

/** Bounds of a password in characters. */
export const PASSWORD_LENGTH = { min: 10, max: 200 } as const

/** Parameters of new hashes: 19 MiB and two passes, the least that OWASP recommends for argon2id. */
const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1 } as const
const TAG_BYTES = 32
const NONCE_BYTES = 16

/**
 * Throws if this version of Node has no argon2. The alternative, scrypt, exists in every version; but hashes of two algorithms would
 * tie a store to the versions of Node that wrote it.
 */
export function requireArgon2(): void {
  if (typeof crypto.argon2 !== 'function')
    throw new TypeError(
      `Passwords need argon2, which Node has from version 24.7 on; this is ${process.version}. Start the site with “npm start” at the root, which brings its own Node.`,
    )
}

/** Hashes a password with a new nonce, on the thread pool of Node. */
export async function hashPassword(password: string): Promise<PasswordHash> {
  const nonce = crypto.randomBytes(NONCE_BYTES).toString('base64url')
  const tag = await derive(password, { nonce, ...PARAMETERS })
  return { tag: tag.toString('base64url'), nonce, ...PARAMETERS }
}

/**
 * Tells whether the password has this hash, in a time that does not depend on the bytes. Without a hash, because there is no such
 * account, it takes the time of a hash and returns false.
 */
export async function isPassword(password: string, hash: PasswordHash | undefined): Promise<boolean> {
  const { tag, ...parameters } = hash ?? PLACEHOLDER
  const expected = Buffer.from(tag, 'base64url')
  const actual = await derive(password, parameters)
  const isSame = expected.length === actual.length && crypto.timingSafeEqual(expected, actual)
  return isSame && hash !== undefined
}

/** Returns true if the hash was made with other parameters than those of new hashes. */
export function isOutdated({ memory, passes, parallelism }: PasswordHash): boolean {
  return (
    memory !== PARAMETERS.memory || passes !== PARAMETERS.passes || parallelism !== PARAMETERS.parallelism
  )
}

const PLACEHOLDER: PasswordHash = {
  tag: Buffer.alloc(TAG_BYTES).toString('base64url'),
  nonce: Buffer.alloc(NONCE_BYTES).toString('base64url'),
  ...PARAMETERS,
}

function derive(
  password: string,
  { nonce, memory, passes, parallelism }: Omit<PasswordHash, 'tag'>,
): Promise<Buffer> {
  return promisify(crypto.argon2)('argon2id', {
    // Keyboards write some characters in several ways.
    message: Buffer.from(password.normalize('NFKC')),
    nonce: Buffer.from(nonce, 'base64url'),
    memory,
    passes,
    parallelism,
    tagLength: TAG_BYTES,
  })
}
