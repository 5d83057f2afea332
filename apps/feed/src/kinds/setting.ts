import { defineKind, typed } from 'looseleaf'

interface SettingProperties {
  readonly name: string
  readonly value: string
}

export const Setting = defineKind('setting', { schema: typed<SettingProperties>() })
