import { expect, test } from 'vitest'
import { decodeText } from './decode-text.ts'

const latin1 = (text: string): Buffer => Buffer.from(text, 'latin1')

test('bytes that are not UTF-8 are decoded by the declared encoding', () => {
  const bytes = latin1('<?xml version="1.0" encoding="ISO-8859-1"?><a>caf\xe9</a>')
  expect(decodeText(bytes)).toMatchObject({ encoding: 'windows-1252' })
  expect(decodeText(bytes).text).toContain('café')
  const cyrillic = Buffer.concat([
    latin1('<?xml version="1.0" encoding="koi8-r"?>'),
    Buffer.from([0xf4, 0xd2, 0xc1]),
  ])
  expect(decodeText(cyrillic).text).toContain('Тра')
})

test('valid UTF-8 is decoded as UTF-8 despite another declaration', () => {
  const bytes = Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>café</a>')
  expect(decodeText(bytes).text).toContain('café')
})

test('invalid UTF-8 that is declared as UTF-8 is decoded as windows-1252', () => {
  const bytes = latin1('<?xml version="1.0" encoding="utf-8"?><a>\x93na\xefve\x94</a>')
  expect(decodeText(bytes).text).toContain('“naïve”')
})

test('an unknown declared encoding is ignored', () => {
  expect(decodeText(latin1('<?xml version="1.0" encoding="x-moon"?>\xe9')).text).toMatch(/é$/)
})

test('UTF-16 is recognized by its byte order mark or its first bytes', () => {
  const text = '<a>Übermut</a>'
  expect(decodeText(Buffer.from(`\ufeff${text}`, 'utf16le')).text).toBe(text)
  expect(decodeText(Buffer.from(text, 'utf16le')).text).toBe(text)
  expect(decodeText(Buffer.from(text, 'utf16le').swap16()).text).toBe(text)
})
