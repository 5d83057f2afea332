import { isLong } from '@looseleaf-tooling/vitest/long'
import { expect, it } from 'vitest'
import { obsoleteReasons } from './equivalent.ts'
import { findMutants } from './find-mutants.ts'
import { mutate } from './mutant.ts'
import { parse } from './syntax.ts'
import { readSource, targetFiles } from './targets.ts'

const all = [...targetFiles().keys()].flatMap((file) => findMutants(file, readSource(file)))

it('every mutant of the protocol has a distinct name and parses', () => {
  expect(all.length).toBeGreaterThan(2000)
  expect(new Set(all.map(({ file, name }) => `${file}\n${name}`)).size).toBe(all.length)
  const parsed = isLong ? all : all.filter((_, i) => i % 20 === 0)
  for (const mutant of parsed) parse(mutant.file, mutate(readSource(mutant.file), mutant))
})

it('every reason belongs to an existing mutant', () => {
  expect(obsoleteReasons(all)).toEqual([])
})

it('a reason for a missing mutant is reported', () => {
  const [mutant] = all
  const file = mutant!.file
    .replace(/^packages\//, '')
    .replace('/src/', '/')
    .replace('.ts', '')
  const reasons = { [file]: { [mutant!.name]: 'why', 'gone: x → y': 'why' }, 'gone/file': { 'x → y': 'why' } }
  expect(obsoleteReasons(all, reasons)).toEqual([`${file}: gone: x → y`, 'gone/file: x → y'])
})
