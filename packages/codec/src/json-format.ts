import { isUtf8 } from 'node:buffer'
import { copyBag } from '@looseleaf/core'
import { asBuffer } from '@looseleaf/core/internal'
import type { BodyFormat } from './body-format.ts'
import { damaged } from './damaged.ts'
import { scanJson } from './json-scan.ts'
import { fromJson, toJson } from './json-tags.ts'
import { isObject } from './shape-candidates.ts'

/** Format 2: JSON, which other tools can read. Values without a JSON form are tagged, see `toJson`. */
export const jsonFormat: BodyFormat = {
  id: 2,
  name: 'json',
  encode(bag) {
    return Buffer.from(JSON.stringify(toJson(copyBag(bag))))
  },
  decode(bytes) {
    if (!isUtf8(bytes)) throw damaged('its text is not UTF-8')
    scanJson(bytes)
    let json: unknown
    try {
      json = JSON.parse(asBuffer(bytes).toString())
    } catch {
      // The parser's error quotes stored values, so it is no cause.
      throw damaged('its text is not JSON')
    }
    if (typeof json !== 'object' || json === null || Array.isArray(json))
      throw damaged('it does not hold a bag')
    const bag = fromJson(json, 1)
    // A single tagged value, such as `{"$date": …}`, is none.
    if (!isObject(bag)) throw damaged('it does not hold a bag')
    return bag
  },
}
