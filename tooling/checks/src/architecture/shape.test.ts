import { describe, expect, test } from 'vitest'
import { MOST_LINES } from './allowed-imports.ts'
import { metadataOf, withAbsoluteLinks } from './metadata.ts'
import { isTest, isThere, read, sourcesOf, workspacePackages } from './repository.ts'

const published = workspacePackages('packages')

describe.each(published.map((one) => [one.manifest.name, one] as const))('%s', (_name, one) => {
  test(`every file has fewer than ${MOST_LINES} lines`, () => {
    const sources = sourcesOf(one).filter((path) => !isTest(path))
    expect(sources.length).toBeGreaterThan(0)
    const long = sources
      .map((path) => ({ path, lines: read(path).split('\n').length - 1 }))
      .filter(({ lines }) => lines >= MOST_LINES)
    expect(long).toEqual([])
  })

  test('file names are kebab-case', () => {
    const odd = sourcesOf(one).filter(
      (path) => !/^[a-z0-9-]+(\.int|\.property)?(\.test|\.test-d)?\.tsx?$/.test(path.split('/').at(-1) ?? ''),
    )
    expect(odd).toEqual([])
  })

  test('a package has a README, and is ESM under the MIT licence', () => {
    expect(isThere(`${one.folder}/README.md`)).toBe(true)
    expect(one.manifest).toMatchObject({ type: 'module', license: 'MIT' })
    expect(one.manifest.private ?? false).toBe(false)
  })

  test('package.json has the address of the root; `pnpm metadata` writes it', () => {
    expect(one.manifest).toMatchObject(metadataOf(one))
    const readme = read(`${one.folder}/README.md`)
    expect(readme).toBe(withAbsoluteLinks(one, readme))
  })
})

test('apps and tooling are never published', () => {
  const open = [...workspacePackages('apps'), ...workspacePackages('tooling')].filter(
    ({ manifest }) => manifest.private !== true,
  )
  expect(open.map(({ folder }) => folder)).toEqual([])
})
