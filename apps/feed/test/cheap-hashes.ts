import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { afterAll, beforeAll } from 'vitest'

/** Makes the password hashes of a test file cheap, by the least parameters of argon2. A hash of the site takes 30 ms. */
export function hashCheaply(): void {
  const { argon2 } = crypto
  beforeAll(() =>
    replaceArgon2((algorithm, parameters, callback) =>
      argon2(algorithm, { ...parameters, memory: 8, passes: 1 }, callback),
    ),
  )
  afterAll(() => replaceArgon2(argon2))
}

function replaceArgon2(argon2: typeof crypto.argon2): void {
  crypto.argon2 = argon2
  syncBuiltinESMExports()
}
