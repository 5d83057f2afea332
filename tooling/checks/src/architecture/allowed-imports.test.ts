import { isBuiltin } from 'node:module'
import { describe, expect, test } from 'vitest'
import { feed, packages, stage, type Allowance } from './allowed-imports.ts'
import { importsOf, packageOf } from './imports-of.ts'
import { isTest, neededBy, read, sourcesOf, workspacePackages, type WorkspacePackage } from './repository.ts'

const published = workspacePackages('packages')
const apps = workspacePackages('apps')

test('the table names exactly the existing packages', () => {
  expect(published.map(({ manifest }) => manifest.name).toSorted()).toEqual(Object.keys(packages).toSorted())
})

describe.each(published.map((one) => [one.manifest.name, one] as const))('%s', (name, one) => {
  const allowed = allowanceOf(name)

  test('dependencies are exactly those of the table', () => {
    expect(neededBy(one.manifest)).toEqual([...allowed.workspace, ...allowed.thirdParty].toSorted())
  })

  test('imports are those that the table allows', () => {
    expect(forbiddenImports(one, allowed)).toEqual([])
  })
})

describe('apps/feed', () => {
  const one = apps.find(({ folder }) => folder === 'apps/feed')
  if (one === undefined) throw new Error('apps/feed is not there.')

  test('dependencies of the feed are exactly those of its table', () => {
    expect(neededBy(one.manifest)).toEqual([...stage.workspace, ...stage.thirdParty].toSorted())
  })

  test('imports are those that the table of the feed allows, and only the stage imports packages below looseleaf', () => {
    const paths = sourcesOf(one)
    const onStage = (path: string): boolean => path.startsWith('apps/feed/src/stage/')
    expect(paths.filter(onStage)).not.toEqual([])
    expect(forbiddenImports(one, stage, paths.filter(onStage))).toEqual([])
    expect(
      forbiddenImports(
        one,
        feed,
        paths.filter((path) => !onStage(path)),
      ),
    ).toEqual([])
  })

  test('sources of the feed contain no SQL', () => {
    const found = sourcesOf(one)
      .filter((path) => !isTest(path))
      .filter((path) => SQL.test(read(path)))
    expect(found).toEqual([])
  })
})

/** SQL statements, which this repository writes in capitals. */
const SQL =
  /\b(SELECT\b[^;]{1,200}?\bFROM|INSERT\s+(IGNORE\s+)?INTO|UPDATE\s+[\w`]+\s+SET|DELETE\s+FROM|(CREATE|ALTER|DROP)\s+(TABLE|DATABASE|INDEX))\b/

function allowanceOf(name: string): Allowance {
  const allowed = packages[name]
  if (allowed === undefined) throw new Error(`${name} is not in the table of allowed imports.`)
  return allowed
}

function forbiddenImports(one: WorkspacePackage, allowed: Allowance, paths = sourcesOf(one)): string[] {
  return paths.flatMap((path) =>
    importsOf(read(path))
      .filter(({ specifier }) => !mayImport(one, allowed, path, specifier))
      .map(({ specifier, line }) => `${path}:${line} imports ${specifier}`),
  )
}

function mayImport(one: WorkspacePackage, allowed: Allowance, path: string, specifier: string): boolean {
  // A relative import must stay inside its package.
  if (specifier.startsWith('.')) return staysInside(one.folder, path, specifier)
  // Only with the prefix `node:`: plain `fs` could be a package.
  if (isBuiltin(specifier)) {
    if (!specifier.startsWith('node:')) return false
    return isTest(path) || allowed.node === undefined || allowed.node.includes(specifier)
  }
  const name = packageOf(specifier)
  // Our packages have one entry point each, unless the table names more.
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
