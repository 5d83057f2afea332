import { expect, test } from 'vitest'
import { isVersion, requireVersion } from './stored-version.ts'

test.each([1, 1_795_000_000_123_456, Number.MAX_SAFE_INTEGER])('version %d is valid', (version) => {
  expect(isVersion(version)).toBe(true)
  expect(() => requireVersion(version)).not.toThrow()
})

// The last version is the greatest value of an unsigned column as a JavaScript number.
test.each([0, -1, 1.5, Number.NaN, 2 ** 53, 2 ** 64])(
  'version %d counts as damage, and the message names the repair',
  (version) => {
    expect(isVersion(version)).toBe(false)
    expect(() => requireVersion(version)).toThrow(
      expect.objectContaining({
        code: 'BODY_DAMAGED',
        message: expect.stringMatching(/^Its row has version .*looseleaf damaged --repair$/),
      }),
    )
  },
)
