import { expect, test } from 'vitest'
import { isVersion, requireVersion } from './stored-version.ts'

test.each([1, 1_795_000_000_123_456, Number.MAX_SAFE_INTEGER])(
  '%d can be the version of an entity',
  (version) => {
    expect(isVersion(version)).toBe(true)
    expect(() => requireVersion(version)).not.toThrow()
  },
)

// The last one is what the greatest number of an unsigned column becomes.
test.each([0, -1, 1.5, Number.NaN, 2 ** 53, 2 ** 64])(
  '%d is damage, and is told with what to do',
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
