import { describe, expect, test } from 'vitest'
import { packages } from './allowed-imports.ts'
import { entryOf, reachedFrom } from './module-graph.ts'
import { read, workspacePackages } from './repository.ts'

describe.each(workspacePackages('packages').map((one) => [one.manifest.name, one] as const))(
  '%s',
  (name, { folder, manifest }) => {
    test('has one entry, ".", for sources, types and the rest', () => {
      expect(manifest.exports).toEqual({
        '.': {
          '@looseleaf/source': './src/index.ts',
          types: './dist/index.d.ts',
          default: './dist/index.js',
        },
      })
    })

    test('names every export: no export of everything', () => {
      expect(read(`${folder}/src/index.ts`)).not.toMatch(/^\s*export\s*(type\s*)?\*/m)
    })

    const forbidden = packages[name]?.neverReaches ?? []
    test(`as built, does not reach ${typeof forbidden === 'string' ? forbidden : forbidden.join(', ')}`, async () => {
      const reached = await reachedFrom(entryOf(folder))
      const ways = [...reached].filter(([third]) => forbidden === 'anything' || forbidden.includes(third))
      expect(ways.map(([, way]) => way)).toEqual([])
    })
  },
)

test('a driver is reached where one is: the walk through the built modules sees third-party packages', async () => {
  const reached = await reachedFrom(entryOf('packages/driver-mysql'))
  expect([...reached.keys()].filter((third) => third === 'mysql2' || third === 'kysely')).not.toEqual([])
})
