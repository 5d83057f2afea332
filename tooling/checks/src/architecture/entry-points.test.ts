import { describe, expect, test } from 'vitest'
import { packages } from './allowed-imports.ts'
import { entryOf, reachedFrom } from './module-graph.ts'
import { read, workspacePackages } from './repository.ts'

describe.each(workspacePackages('packages').map((one) => [one.manifest.name, one] as const))(
  '%s',
  (name, { folder, manifest }) => {
    const { mainEntry = true, moreEntries = [], neverReaches: forbidden = [] } = packages[name] ?? {}
    const modules = [...(mainEntry ? ['index'] : []), ...moreEntries]

    test('a package has the entry points of the table, for sources, types and builds', () => {
      expect(manifest.exports).toEqual(
        Object.fromEntries(modules.map((entry) => [entry === 'index' ? '.' : `./${entry}`, exportOf(entry)])),
      )
    })

    test('entry points name every export and have no `export *`', () => {
      for (const entry of modules)
        expect(read(`${folder}/src/${entry}.ts`)).not.toMatch(/^\s*export\s*(type\s*)?\*/m)
    })

    test(`the built package does not reach ${typeof forbidden === 'string' ? forbidden : forbidden.join(', ')}`, async () => {
      const reached = await reachedFrom(entryOf(mainEntry ? name : `${name}/${moreEntries[0]}`))
      const ways = [...reached].filter(([third]) => forbidden === 'anything' || forbidden.includes(third))
      expect(ways.map(([, way]) => way)).toEqual([])
    })
  },
)

test('the kit of the console reaches no external package, so it loads neither a store nor a cleaner', async () => {
  expect([...(await reachedFrom(entryOf('@looseleaf/console/kit')))]).toEqual([])
})

test('the walk through built modules tells the entry points of a package apart', async () => {
  const reached = await reachedFrom('packages/looseleaf/dist/bin.js')
  expect(reached.get('commander')).toContain('@looseleaf/cli/main')
})

test('the walk through built modules finds third-party packages', async () => {
  const reached = await reachedFrom(entryOf('@looseleaf/driver-mysql'))
  expect([...reached.keys()].filter((third) => third === 'mysql2' || third === 'kysely')).not.toEqual([])
})

function exportOf(module: string): Readonly<Record<string, string>> {
  return {
    '@looseleaf/source': `./src/${module}.ts`,
    types: `./dist/${module}.d.ts`,
    default: `./dist/${module}.js`,
  }
}
