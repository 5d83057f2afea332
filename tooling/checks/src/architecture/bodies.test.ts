import { expect, test } from 'vitest'
import { isTest, read, sourcesOf, workspacePackages } from './repository.ts'

/** `row-change.ts` decodes a body again that the same write has decoded, and `try-codec.ts` one that is not stored. */
const MAY_DECODE =
  /^packages\/testkit\/|\/opening\/(?:stored-bodies|try-codec)\.ts$|\/writing\/row-change\.ts$/

test('a package decodes stored bodies with the codec entries of their store, and not by the codec alone', () => {
  const sources = workspacePackages('packages')
    .flatMap((one) => sourcesOf(one))
    .filter((path) => !isTest(path) && !MAY_DECODE.test(path))
  expect(sources.length).toBeGreaterThan(100)
  expect(sources.filter((path) => /\bcodec\.decode\(/.test(read(path)))).toEqual([])
})
