import { expect, test } from 'vitest'
import { isTest, read, sourcesOf, workspacePackages } from './repository.ts'

/** Files that know a router's own assignment. */
const KNOWS_ROUTERS = /^packages\/(router|testkit)\/|\/catalog\/placement\.ts$|\/opening\/check-router\.ts$/

test('a package takes the shard of an id or a key from the placement of a catalog, and not from a router', () => {
  const sources = workspacePackages('packages')
    .flatMap((one) => sourcesOf(one))
    .filter((path) => !isTest(path) && !KNOWS_ROUTERS.test(path))
  expect(sources.length).toBeGreaterThan(100)
  const asksRouter =
    /\brouter\.shardOf|\b(?:shards?OfRow|shardsOfQuery|planQuery|planIntersection)\([^)]*\brouter\b/
  expect(sources.filter((path) => asksRouter.test(read(path)))).toEqual([])
})
