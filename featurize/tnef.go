// SPDX-License-Identifier: Apache-2.0

package featurize

import (
	"bytes"
	"encoding/binary"
	"strconv"
)

// Attributes of a TNEF stream (MS-OXTNEF, section 2.1.3.2), and MAPI properties within.
const (
	tnefSignature      = 0x223e9f78
	tnefBody           = 0x0002800c
	tnefCodePage       = 0x00069007
	tnefProperties     = 0x00069003
	tnefAttachment     = 0x00069002 // begins one
	tnefTitle          = 0x00018010
	tnefAttachmentMAPI = 0x00069005

	mapiBody     = 0x1000
	mapiRTF      = 0x1009
	mapiHTML     = 0x1013
	mapiFileName = 0x3707
	mapiString8  = 0x1e
	mapiUnicode  = 0x1f
)

// readTNEF reads winmail.dat: the names of the files in it, and the letter where no other
// part shows one. It reports whether it is one.
func (f *Featurizer) readTNEF(data []byte) bool {
	if len(data) < 6 || binary.LittleEndian.Uint32(data) != tnefSignature {
		f.defect("winmail.dat")
		return false
	}
	label, name, files := "windows-1252", "", 0
	var plain, doc, rtf []byte
	flush := func() {
		if files > 0 {
			f.attach(&part{name: name})
		}
		name = ""
	}
	// A level, an attribute, its length, the value, a checksum.
	for data = data[6:]; len(data) >= 9; {
		id, length := binary.LittleEndian.Uint32(data[1:]), int64(binary.LittleEndian.Uint32(data[5:]))
		data = data[9:]
		value := data[:min(length, int64(len(data)))]
		data = data[min(int64(len(data)), length+2):]
		switch id {
		case tnefCodePage:
			if len(value) >= 4 {
				label = codePage(int(binary.LittleEndian.Uint32(value)))
			}
		case tnefBody:
			plain = f.mapiText(value, mapiString8, label)
		case tnefProperties:
			eachProperty(value, func(id, kind uint16, value []byte) {
				switch id {
				case mapiBody:
					plain = f.mapiText(value, kind, label)
				case mapiHTML:
					doc = f.mapiText(value, kind, label)
				case mapiRTF:
					rtf = decompressRTF(value, 4*f.MaxText)
				}
			})
		case tnefAttachment:
			flush()
			files++
		case tnefTitle:
			if name == "" {
				name = string(f.mapiText(value, mapiString8, label))
			}
		case tnefAttachmentMAPI:
			eachProperty(value, func(id, kind uint16, value []byte) {
				if id == mapiFileName {
					name = string(f.mapiText(value, kind, label))
				}
			})
		}
	}
	flush()
	switch {
	case f.body.shown > 0:
	case len(doc) > 0:
		f.showDecoded(doc, "text/html")
	case len(plain) > 0:
		f.showDecoded(plain, "text/plain")
	default:
		f.showDecoded(rtf, "text/rtf")
	}
	return true
}

// mapiText decodes a string, as many bytes of it as are read.
func (f *Featurizer) mapiText(value []byte, kind uint16, label string) []byte {
	value = value[:min(len(value), 4*f.MaxText)]
	if kind == mapiUnicode {
		return bytes.TrimRight(f.decodeCharset(value, "utf-16le", false), "\x00")
	}
	return f.decodeCharset(bytes.TrimRight(value, "\x00"), label, false)
}

// eachProperty reads a list of MAPI properties (MS-OXTNEF, section 2.1.3.4) up to the first
// that is damaged. Of a property with several values it gives the last.
func eachProperty(data []byte, give func(id, kind uint16, value []byte)) {
	take := func(n uint32) (taken []byte) { // padded to four bytes; nil at the end
		if uint64(n) > uint64(len(data)) {
			data = nil
			return nil
		}
		taken, data = data[:n:n], data[min(len(data), int(n+3)&^3):]
		return taken
	}
	number := func() uint32 {
		if b := take(4); len(b) == 4 {
			return binary.LittleEndian.Uint32(b)
		}
		return 0
	}
	for number(); len(data) >= 8; {
		tag := number()
		id, kind := uint16(tag>>16), uint16(tag)
		if id >= 0x8000 { // has a name
			take(16)
			if number() == 0 {
				take(4)
			} else {
				take(number())
			}
		}
		values, size := uint32(1), uint32(4)
		switch kind &^ 0x1000 {
		case 0x0d, mapiString8, mapiUnicode, 0x102:
			values, size = number(), 0
		case 0x05, 0x06, 0x07, 0x14, 0x40:
			size = 8
		case 0x48:
			size = 16
		}
		if kind&0x1000 != 0 && size > 0 {
			values = number()
		}
		for ; values > 0 && len(data) > 0; values-- {
			n := size
			if n == 0 {
				n = number()
			}
			give(id, kind&^0x1000, take(n))
		}
	}
}

// codePage names the charset of a Windows code page.
func codePage(number int) string {
	switch number {
	case 932:
		return "shift_jis"
	case 936:
		return "gbk"
	case 949:
		return "euc-kr"
	case 950:
		return "big5"
	case 65001:
		return "utf-8"
	}
	return "windows-" + strconv.Itoa(number)
}
