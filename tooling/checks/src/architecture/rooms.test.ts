import { posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importsOf } from './imports-of.ts'
import { isTest, read, sourcesOf, workspacePackages, type WorkspacePackage } from './repository.ts'

describe.each(workspacePackages('packages').map((one) => [one.manifest.name, one] as const))(
  '%s',
  (_name, one) => {
    test('folders of a package import in one direction', () => {
      expect(circle(importsBetweenFolders(one))).toEqual([])
    })
  },
)

test('the check names folders in a cycle, and not folders that lead to one', () => {
  const edges = new Map([
    ['top', new Set(['a'])],
    ['a', new Set(['b', 'base'])],
    ['b', new Set(['a'])],
    ['base', new Set<string>()],
  ])
  expect(circle(edges)).toEqual(['a', 'b'])
  edges.set('b', new Set(['base']))
  expect(circle(edges)).toEqual([])
})

type Folders = ReadonlyMap<string, ReadonlySet<string>>

/**
 * Returns the folders of a package's `src`, each with the folders that it imports. Files outside of folders
 * are entry points.
 */
function importsBetweenFolders(one: WorkspacePackage): Folders {
  const src = `${one.folder}/src`
  const folderOf = (path: string): string | undefined => {
    const [folder, ...rest] = posix.relative(src, path).split('/')
    return rest.length === 0 ? undefined : folder
  }
  const edges = new Map<string, Set<string>>()
  for (const path of sourcesOf(one).filter((each) => !isTest(each))) {
    const folder = folderOf(path)
    if (folder === undefined) continue
    const reached = edges.get(folder) ?? new Set()
    edges.set(folder, reached)
    for (const { specifier } of importsOf(read(path)).filter((each) => each.specifier.startsWith('.'))) {
      const other = folderOf(posix.join(posix.dirname(path), specifier))
      if (other !== undefined && other !== folder) reached.add(other)
    }
  }
  return edges
}

/** Returns folders in an import cycle; empty if there is none. */
function circle(edges: Folders): string[] {
  const reachedFrom = (start: string): ReadonlySet<string> => {
    const reached = new Set<string>()
    const open = [start]
    for (let folder = open.pop(); folder !== undefined; folder = open.pop()) {
      for (const next of edges.get(folder) ?? []) {
        if (!reached.has(next)) open.push(next)
        reached.add(next)
      }
    }
    return reached
  }
  return [...edges.keys()].filter((folder) => reachedFrom(folder).has(folder))
}
