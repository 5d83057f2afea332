import { isBuiltin } from 'node:module'
import { describe, expect, test } from 'vitest'
import { feed, packages, type Allowance } from './allowed-imports.ts'
import { importsOf, packageOf } from './imports-of.ts'
import { isTest, neededBy, read, sourcesOf, workspacePackages, type WorkspacePackage } from './repository.ts'

const published = workspacePackages('packages')
const apps = workspacePackages('apps')

test('the table names exactly the packages that there are', () => {
  expect(published.map(({ manifest }) => manifest.name).toSorted()).toEqual(Object.keys(packages).toSorted())
})

describe.each(published.map((one) => [one.manifest.name, one] as const))('%s', (name, one) => {
  const allowed = allowanceOf(name)

  test('depends on what the table allows it, no more and no less', () => {
    expect(neededBy(one.manifest)).toEqual([...allowed.workspace, ...allowed.thirdParty].toSorted())
  })

  test('imports only what the table allows it', () => {
    expect(forbiddenImports(one, allowed)).toEqual([])
  })
})

describe('apps/feed', () => {
  const one = apps.find(({ folder }) => folder === 'apps/feed')
  if (one === undefined) throw new Error('apps/feed is not there.')

  test('depends on looseleaf alone among the packages of this repository', () => {
    expect(neededBy(one.manifest)).toEqual([...feed.workspace, ...feed.thirdParty].toSorted())
  })

  test('imports only what the table allows it', () => {
    expect(forbiddenImports(one, feed)).toEqual([])
  })

  test('has no SQL in it', () => {
    const found = sourcesOf(one)
      .filter((path) => !isTest(path))
      .filter((path) => SQL.test(read(path)))
    expect(found).toEqual([])
  })
})

/** Statements, in capitals as everybody writes them. */
const SQL =
  /\b(SELECT\b[^;]{1,200}?\bFROM|INSERT\s+(IGNORE\s+)?INTO|UPDATE\s+[\w`]+\s+SET|DELETE\s+FROM|(CREATE|ALTER|DROP)\s+(TABLE|DATABASE|INDEX))\b/

function allowanceOf(name: string): Allowance {
  const allowed = packages[name]
  if (allowed === undefined) throw new Error(`${name} is not in the table of allowed imports.`)
  return allowed
}

function forbiddenImports(one: WorkspacePackage, allowed: Allowance): string[] {
  return sourcesOf(one).flatMap((path) =>
    importsOf(read(path))
      .filter(({ specifier }) => !mayImport(one, allowed, path, specifier))
      .map(({ specifier, line }) => `${path}:${line} imports ${specifier}`),
  )
}

function mayImport(one: WorkspacePackage, allowed: Allowance, path: string, specifier: string): boolean {
  // Not out of its own package by the back door.
  if (specifier.startsWith('.')) return staysInside(one.folder, path, specifier)
  // Only with the prefix: `fs` alone could be a package.
  if (isBuiltin(specifier)) {
    if (!specifier.startsWith('node:')) return false
    return isTest(path) || allowed.node === undefined || allowed.node.includes(specifier)
  }
  const name = packageOf(specifier)
  // Of a package of ours there is one entry, unless the table has more.
  const entries = [name, ...(packages[name]?.moreEntries ?? []).map((entry) => `${name}/${entry}`)]
  if (name.startsWith('@looseleaf/') && !entries.includes(specifier)) return false
  if ([...allowed.workspace, ...allowed.thirdParty].includes(name)) return true
  if (!isTest(path)) return false
  return name === 'vitest' || name === one.manifest.name || name in (one.manifest.devDependencies ?? {})
}

function staysInside(folder: string, path: string, specifier: string): boolean {
  const target = new URL(specifier, `file:///${path}`).pathname
  return target.startsWith(`/${folder}/`)
}
