import { expect, test } from 'vitest'
import { checkNode } from './check-node.ts'

test('a Node that the compiled library would crash is refused, with what is expected and what is there', () => {
  expect(() => checkNode('20.20.2')).toThrow('Looseleaf needs Node 22.18 or later; this is Node 20.20.2.')
  expect(() => checkNode('9.1.0')).toThrow(expect.objectContaining({ code: 'BAD_OPTION' }))
})

test('a later Node and this one are let through', () => {
  for (const version of ['22.18.0', '24.0.0', '100.1.1']) checkNode(version)
  checkNode()
})
