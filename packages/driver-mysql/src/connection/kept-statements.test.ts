import { expect, test } from 'vitest'
import { createKeptStatements, type KeptStatements } from './kept-statements.ts'

function kept(): { readonly statements: KeptStatements; pass(milliseconds: number): void } {
  let time = 0
  return {
    statements: createKeptStatements(() => time),
    pass(milliseconds) {
      time += milliseconds
    },
  }
}

test('a common statement is kept from its first use, and a scan from its eighth', () => {
  const { statements } = kept()
  expect(statements.keeps('A', 'common')).toBe(true)
  const uses = Array.from({ length: 9 }, () => statements.keeps('B', 'scan'))
  expect(uses).toEqual([...Array.from({ length: 7 }, () => false), true, true])
})

test('a new statement takes the place of one that was idle for a minute, and no other', () => {
  const { statements, pass } = kept()
  const texts = Array.from({ length: 48 }, (_, i) => `S${i}`)
  for (const text of texts) expect(statements.keeps(text, 'common')).toBe(true)
  pass(40_000)
  for (const text of texts.slice(1)) statements.keeps(text, 'common')
  expect(statements.keeps('other', 'common')).toBe(false)
  pass(30_000)
  expect(statements.keeps('other', 'common')).toBe(true)
  expect(statements.keeps('S0', 'common')).toBe(false)
  for (const text of texts.slice(1)) expect(statements.keeps(text, 'common')).toBe(true)
})

test('counts of uses are dropped after very many texts, and kept statements stay', () => {
  const { statements } = kept()
  for (let use = 0; use < 8; use++) statements.keeps('A', 'scan')
  for (let i = 0; i < 1_200; i++) expect(statements.keeps(`S${i}`, 'scan')).toBe(false)
  expect(statements.keeps('A', 'scan')).toBe(true)
})
