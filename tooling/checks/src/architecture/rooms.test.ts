import { posix } from 'node:path'
import { describe, expect, test } from 'vitest'
import { importsOf } from './imports-of.ts'
import { isTest, read, sourcesOf, workspacePackages, type WorkspacePackage } from './repository.ts'

// In the attacks, the folders of histories, of their load and of the matrix still import each other.
const tooling = workspacePackages('tooling').filter(({ folder }) => folder !== 'tooling/attacks')
const workspace = [...workspacePackages('packages'), ...tooling]

describe.each(workspace.map((one) => [one.manifest.name, one] as const))('%s', (_name, one) => {
  test('folders of a package import in one direction, at every depth', () => {
    const circles = parentsOf(one).map((parent) => [parent, circle(importsBetweenFolders(one, parent))])
    expect(circles.filter(([, folders]) => folders!.length > 0)).toEqual([])
  })
})

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

/** Returns a package's `src` and every folder within it that may have folders. */
function parentsOf(one: WorkspacePackage): readonly string[] {
  const src = `${one.folder}/src`
  const folders = new Set([src])
  for (const path of sourcesOf(one))
    for (let folder = posix.dirname(path); folder.startsWith(`${src}/`); folder = posix.dirname(folder))
      folders.add(folder)
  return [...folders]
}

/** Returns the folders of a parent, each with its siblings that it imports. Files beside the folders are entry points. */
function importsBetweenFolders(one: WorkspacePackage, parent: string): Folders {
  const folderOf = (path: string): string | undefined => {
    if (!path.startsWith(`${parent}/`)) return undefined
    const [folder, ...rest] = posix.relative(parent, path).split('/')
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
