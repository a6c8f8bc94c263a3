; slices and cat disappear in index arithmetic

; == mul_sub_mul_add
; loop [p0, p1, p2] kept 3 vector 2
;   buffer b0 f32
;   buffer b1 f32
;   buffer b2 f32
;   buffer b3 f32 written
;   access a0 b0 + p3 [p4, p5, 1]
;   access a1 b1 + 0 [0, p6, 1]
;   access a2 b0 + 0 [p7, p8, 1]
;   access a3 b2 + 0 [0, p9, 1]
;   access a4 b3 + p10 [p11, p12, 1]
;   access a5 b3 + 0 [p13, p14, 1]
;   %0 f32 = load a0
;   %1 f32 = load a1
;   %2 f32 = op Mul %0 %1
;   %3 f32 = load a2
;   %4 f32 = load a3
;   %5 f32 = op Mul %3 %4
;   %6 f32 = op Add %2 %5
;   %7 f32 = op Mul %3 %1
;   %8 f32 = op Mul %0 %4
;   %9 f32 = op Sub %7 %8
;   %10 f32 = store a4 %6
;   %11 f32 = store a5 %9
; ModuleID = 'kernel'
source_filename = "kernel"

; Function Attrs: nounwind
define void @kernel(ptr %0, ptr %1, i64 %2, i64 %3) #0 {
entry:
  %4 = icmp slt i64 %2, %3
  br i1 %4, label %work, label %done

work:                                             ; preds = %entry
  %5 = getelementptr i64, ptr %1, i64 0
  %6 = load i64, ptr %5, align 8
  %7 = getelementptr i64, ptr %1, i64 1
  %8 = load i64, ptr %7, align 8
  %9 = getelementptr i64, ptr %1, i64 2
  %10 = load i64, ptr %9, align 8
  %11 = getelementptr ptr, ptr %0, i64 0
  %12 = load ptr, ptr %11, align 8
  %13 = getelementptr ptr, ptr %0, i64 1
  %14 = load ptr, ptr %13, align 8
  %15 = getelementptr ptr, ptr %0, i64 2
  %16 = load ptr, ptr %15, align 8
  %17 = getelementptr ptr, ptr %0, i64 3
  %18 = load ptr, ptr %17, align 8
  %19 = getelementptr i64, ptr %1, i64 3
  %20 = load i64, ptr %19, align 8
  %21 = getelementptr float, ptr %12, i64 %20
  %22 = getelementptr i64, ptr %1, i64 4
  %23 = load i64, ptr %22, align 8
  %24 = getelementptr i64, ptr %1, i64 5
  %25 = load i64, ptr %24, align 8
  %26 = getelementptr i64, ptr %1, i64 6
  %27 = load i64, ptr %26, align 8
  %28 = getelementptr i64, ptr %1, i64 7
  %29 = load i64, ptr %28, align 8
  %30 = getelementptr i64, ptr %1, i64 8
  %31 = load i64, ptr %30, align 8
  %32 = getelementptr i64, ptr %1, i64 9
  %33 = load i64, ptr %32, align 8
  %34 = getelementptr i64, ptr %1, i64 10
  %35 = load i64, ptr %34, align 8
  %36 = getelementptr float, ptr %18, i64 %35
  %37 = getelementptr i64, ptr %1, i64 11
  %38 = load i64, ptr %37, align 8
  %39 = getelementptr i64, ptr %1, i64 12
  %40 = load i64, ptr %39, align 8
  %41 = getelementptr i64, ptr %1, i64 13
  %42 = load i64, ptr %41, align 8
  %43 = getelementptr i64, ptr %1, i64 14
  %44 = load i64, ptr %43, align 8
  %45 = mul i64 1, %6
  %46 = mul i64 %45, %8
  %47 = mul i64 %46, %10
  %48 = icmp sge i64 %47, 8388608
  %49 = ptrtoint ptr %36 to i64
  %50 = or i64 0, %49
  %51 = mul i64 %38, 4
  %52 = or i64 %50, %51
  %53 = mul i64 %40, 4
  %54 = or i64 %52, %53
  %55 = icmp sge i64 %47, 8388608
  %56 = ptrtoint ptr %18 to i64
  %57 = or i64 %54, %56
  %58 = mul i64 %42, 4
  %59 = or i64 %57, %58
  %60 = mul i64 %44, 4
  %61 = or i64 %59, %60
  %62 = and i64 %61, 63
  %63 = icmp eq i64 %62, 0
  %64 = and i1 %55, %63
  %65 = add i64 %10, 4095
  %66 = lshr i64 %65, 12
  %67 = urem i64 %2, %66
  %68 = udiv i64 %2, %66
  %69 = urem i64 %68, %8
  %70 = udiv i64 %68, %8
  br label %task.head

done:                                             ; preds = %endif8, %entry
  ret void

task.head:                                        ; preds = %tail.end, %work
  %task1 = phi i64 [ %2, %work ], [ %302, %tail.end ]
  %71 = phi i64 [ %70, %work ], [ %301, %tail.end ]
  %72 = phi i64 [ %69, %work ], [ %299, %tail.end ]
  %73 = phi i64 [ %67, %work ], [ %295, %tail.end ]
  %74 = icmp slt i64 %task1, %3
  br i1 %74, label %task, label %task.end

task:                                             ; preds = %task.head
  %75 = mul i64 %71, %23
  %76 = getelementptr float, ptr %21, i64 %75
  %77 = mul i64 %71, %29
  %78 = getelementptr float, ptr %12, i64 %77
  %79 = mul i64 %71, %38
  %80 = getelementptr float, ptr %36, i64 %79
  %81 = mul i64 %71, %42
  %82 = getelementptr float, ptr %18, i64 %81
  %83 = mul i64 %72, %25
  %84 = getelementptr float, ptr %76, i64 %83
  %85 = mul i64 %72, %27
  %86 = getelementptr float, ptr %14, i64 %85
  %87 = mul i64 %72, %31
  %88 = getelementptr float, ptr %78, i64 %87
  %89 = mul i64 %72, %33
  %90 = getelementptr float, ptr %16, i64 %89
  %91 = mul i64 %72, %40
  %92 = getelementptr float, ptr %80, i64 %91
  %93 = mul i64 %72, %44
  %94 = getelementptr float, ptr %82, i64 %93
  %95 = mul i64 %73, 4096
  %96 = add i64 %95, 4096
  %97 = call i64 @llvm.smin.i64(i64 %96, i64 %10)
  %98 = sub i64 %97, %95
  %99 = and i64 %98, -32
  %100 = add i64 %95, %99
  br i1 %64, label %then, label %else

then:                                             ; preds = %task
  %101 = icmp slt i64 %95, %100
  br i1 %101, label %vector, label %vector.end

vector:                                           ; preds = %vector, %then
  %vector2 = phi i64 [ %95, %then ], [ %184, %vector ]
  %102 = getelementptr float, ptr %84, i64 %vector2
  %103 = load <8 x float>, ptr %102, align 4
  %104 = getelementptr float, ptr %84, i64 %vector2
  %105 = getelementptr float, ptr %104, i64 8
  %106 = load <8 x float>, ptr %105, align 4
  %107 = getelementptr float, ptr %84, i64 %vector2
  %108 = getelementptr float, ptr %107, i64 16
  %109 = load <8 x float>, ptr %108, align 4
  %110 = getelementptr float, ptr %84, i64 %vector2
  %111 = getelementptr float, ptr %110, i64 24
  %112 = load <8 x float>, ptr %111, align 4
  %113 = getelementptr float, ptr %86, i64 %vector2
  %114 = load <8 x float>, ptr %113, align 4
  %115 = getelementptr float, ptr %86, i64 %vector2
  %116 = getelementptr float, ptr %115, i64 8
  %117 = load <8 x float>, ptr %116, align 4
  %118 = getelementptr float, ptr %86, i64 %vector2
  %119 = getelementptr float, ptr %118, i64 16
  %120 = load <8 x float>, ptr %119, align 4
  %121 = getelementptr float, ptr %86, i64 %vector2
  %122 = getelementptr float, ptr %121, i64 24
  %123 = load <8 x float>, ptr %122, align 4
  %124 = fmul <8 x float> %103, %114
  %125 = fmul <8 x float> %106, %117
  %126 = fmul <8 x float> %109, %120
  %127 = fmul <8 x float> %112, %123
  %128 = getelementptr float, ptr %88, i64 %vector2
  %129 = load <8 x float>, ptr %128, align 4
  %130 = getelementptr float, ptr %88, i64 %vector2
  %131 = getelementptr float, ptr %130, i64 8
  %132 = load <8 x float>, ptr %131, align 4
  %133 = getelementptr float, ptr %88, i64 %vector2
  %134 = getelementptr float, ptr %133, i64 16
  %135 = load <8 x float>, ptr %134, align 4
  %136 = getelementptr float, ptr %88, i64 %vector2
  %137 = getelementptr float, ptr %136, i64 24
  %138 = load <8 x float>, ptr %137, align 4
  %139 = getelementptr float, ptr %90, i64 %vector2
  %140 = load <8 x float>, ptr %139, align 4
  %141 = getelementptr float, ptr %90, i64 %vector2
  %142 = getelementptr float, ptr %141, i64 8
  %143 = load <8 x float>, ptr %142, align 4
  %144 = getelementptr float, ptr %90, i64 %vector2
  %145 = getelementptr float, ptr %144, i64 16
  %146 = load <8 x float>, ptr %145, align 4
  %147 = getelementptr float, ptr %90, i64 %vector2
  %148 = getelementptr float, ptr %147, i64 24
  %149 = load <8 x float>, ptr %148, align 4
  %150 = fmul <8 x float> %129, %140
  %151 = fmul <8 x float> %132, %143
  %152 = fmul <8 x float> %135, %146
  %153 = fmul <8 x float> %138, %149
  %154 = fadd <8 x float> %124, %150
  %155 = fadd <8 x float> %125, %151
  %156 = fadd <8 x float> %126, %152
  %157 = fadd <8 x float> %127, %153
  %158 = fmul <8 x float> %129, %114
  %159 = fmul <8 x float> %132, %117
  %160 = fmul <8 x float> %135, %120
  %161 = fmul <8 x float> %138, %123
  %162 = fmul <8 x float> %103, %140
  %163 = fmul <8 x float> %106, %143
  %164 = fmul <8 x float> %109, %146
  %165 = fmul <8 x float> %112, %149
  %166 = fsub <8 x float> %158, %162
  %167 = fsub <8 x float> %159, %163
  %168 = fsub <8 x float> %160, %164
  %169 = fsub <8 x float> %161, %165
  %170 = getelementptr float, ptr %92, i64 %vector2
  store <8 x float> %154, ptr %170, align 32, !nontemporal !0
  %171 = getelementptr float, ptr %92, i64 %vector2
  %172 = getelementptr float, ptr %171, i64 8
  store <8 x float> %155, ptr %172, align 32, !nontemporal !0
  %173 = getelementptr float, ptr %92, i64 %vector2
  %174 = getelementptr float, ptr %173, i64 16
  store <8 x float> %156, ptr %174, align 32, !nontemporal !0
  %175 = getelementptr float, ptr %92, i64 %vector2
  %176 = getelementptr float, ptr %175, i64 24
  store <8 x float> %157, ptr %176, align 32, !nontemporal !0
  %177 = getelementptr float, ptr %94, i64 %vector2
  store <8 x float> %166, ptr %177, align 32, !nontemporal !0
  %178 = getelementptr float, ptr %94, i64 %vector2
  %179 = getelementptr float, ptr %178, i64 8
  store <8 x float> %167, ptr %179, align 32, !nontemporal !0
  %180 = getelementptr float, ptr %94, i64 %vector2
  %181 = getelementptr float, ptr %180, i64 16
  store <8 x float> %168, ptr %181, align 32, !nontemporal !0
  %182 = getelementptr float, ptr %94, i64 %vector2
  %183 = getelementptr float, ptr %182, i64 24
  store <8 x float> %169, ptr %183, align 32, !nontemporal !0
  %184 = add i64 %vector2, 32
  %185 = icmp slt i64 %184, %100
  br i1 %185, label %vector, label %vector.end

vector.end:                                       ; preds = %vector, %then
  br label %endif

else:                                             ; preds = %task
  %186 = icmp slt i64 %95, %100
  br i1 %186, label %vector3, label %vector.end5

vector3:                                          ; preds = %vector3, %else
  %vector4 = phi i64 [ %95, %else ], [ %269, %vector3 ]
  %187 = getelementptr float, ptr %84, i64 %vector4
  %188 = load <8 x float>, ptr %187, align 4
  %189 = getelementptr float, ptr %84, i64 %vector4
  %190 = getelementptr float, ptr %189, i64 8
  %191 = load <8 x float>, ptr %190, align 4
  %192 = getelementptr float, ptr %84, i64 %vector4
  %193 = getelementptr float, ptr %192, i64 16
  %194 = load <8 x float>, ptr %193, align 4
  %195 = getelementptr float, ptr %84, i64 %vector4
  %196 = getelementptr float, ptr %195, i64 24
  %197 = load <8 x float>, ptr %196, align 4
  %198 = getelementptr float, ptr %86, i64 %vector4
  %199 = load <8 x float>, ptr %198, align 4
  %200 = getelementptr float, ptr %86, i64 %vector4
  %201 = getelementptr float, ptr %200, i64 8
  %202 = load <8 x float>, ptr %201, align 4
  %203 = getelementptr float, ptr %86, i64 %vector4
  %204 = getelementptr float, ptr %203, i64 16
  %205 = load <8 x float>, ptr %204, align 4
  %206 = getelementptr float, ptr %86, i64 %vector4
  %207 = getelementptr float, ptr %206, i64 24
  %208 = load <8 x float>, ptr %207, align 4
  %209 = fmul <8 x float> %188, %199
  %210 = fmul <8 x float> %191, %202
  %211 = fmul <8 x float> %194, %205
  %212 = fmul <8 x float> %197, %208
  %213 = getelementptr float, ptr %88, i64 %vector4
  %214 = load <8 x float>, ptr %213, align 4
  %215 = getelementptr float, ptr %88, i64 %vector4
  %216 = getelementptr float, ptr %215, i64 8
  %217 = load <8 x float>, ptr %216, align 4
  %218 = getelementptr float, ptr %88, i64 %vector4
  %219 = getelementptr float, ptr %218, i64 16
  %220 = load <8 x float>, ptr %219, align 4
  %221 = getelementptr float, ptr %88, i64 %vector4
  %222 = getelementptr float, ptr %221, i64 24
  %223 = load <8 x float>, ptr %222, align 4
  %224 = getelementptr float, ptr %90, i64 %vector4
  %225 = load <8 x float>, ptr %224, align 4
  %226 = getelementptr float, ptr %90, i64 %vector4
  %227 = getelementptr float, ptr %226, i64 8
  %228 = load <8 x float>, ptr %227, align 4
  %229 = getelementptr float, ptr %90, i64 %vector4
  %230 = getelementptr float, ptr %229, i64 16
  %231 = load <8 x float>, ptr %230, align 4
  %232 = getelementptr float, ptr %90, i64 %vector4
  %233 = getelementptr float, ptr %232, i64 24
  %234 = load <8 x float>, ptr %233, align 4
  %235 = fmul <8 x float> %214, %225
  %236 = fmul <8 x float> %217, %228
  %237 = fmul <8 x float> %220, %231
  %238 = fmul <8 x float> %223, %234
  %239 = fadd <8 x float> %209, %235
  %240 = fadd <8 x float> %210, %236
  %241 = fadd <8 x float> %211, %237
  %242 = fadd <8 x float> %212, %238
  %243 = fmul <8 x float> %214, %199
  %244 = fmul <8 x float> %217, %202
  %245 = fmul <8 x float> %220, %205
  %246 = fmul <8 x float> %223, %208
  %247 = fmul <8 x float> %188, %225
  %248 = fmul <8 x float> %191, %228
  %249 = fmul <8 x float> %194, %231
  %250 = fmul <8 x float> %197, %234
  %251 = fsub <8 x float> %243, %247
  %252 = fsub <8 x float> %244, %248
  %253 = fsub <8 x float> %245, %249
  %254 = fsub <8 x float> %246, %250
  %255 = getelementptr float, ptr %92, i64 %vector4
  store <8 x float> %239, ptr %255, align 4
  %256 = getelementptr float, ptr %92, i64 %vector4
  %257 = getelementptr float, ptr %256, i64 8
  store <8 x float> %240, ptr %257, align 4
  %258 = getelementptr float, ptr %92, i64 %vector4
  %259 = getelementptr float, ptr %258, i64 16
  store <8 x float> %241, ptr %259, align 4
  %260 = getelementptr float, ptr %92, i64 %vector4
  %261 = getelementptr float, ptr %260, i64 24
  store <8 x float> %242, ptr %261, align 4
  %262 = getelementptr float, ptr %94, i64 %vector4
  store <8 x float> %251, ptr %262, align 4
  %263 = getelementptr float, ptr %94, i64 %vector4
  %264 = getelementptr float, ptr %263, i64 8
  store <8 x float> %252, ptr %264, align 4
  %265 = getelementptr float, ptr %94, i64 %vector4
  %266 = getelementptr float, ptr %265, i64 16
  store <8 x float> %253, ptr %266, align 4
  %267 = getelementptr float, ptr %94, i64 %vector4
  %268 = getelementptr float, ptr %267, i64 24
  store <8 x float> %254, ptr %268, align 4
  %269 = add i64 %vector4, 32
  %270 = icmp slt i64 %269, %100
  br i1 %270, label %vector3, label %vector.end5

vector.end5:                                      ; preds = %vector3, %else
  br label %endif

endif:                                            ; preds = %vector.end, %vector.end5
  br label %tail.head

tail.head:                                        ; preds = %tail, %endif
  %tail6 = phi i64 [ %100, %endif ], [ %292, %tail ]
  %271 = icmp slt i64 %tail6, %97
  br i1 %271, label %tail, label %tail.end

tail:                                             ; preds = %tail.head
  %272 = sub i64 %97, %tail6
  %273 = call i64 @llvm.umin.i64(i64 %272, i64 8)
  %274 = trunc i64 %273 to i32
  %.splatinsert = insertelement <8 x i32> poison, i32 %274, i64 0
  %.splat = shufflevector <8 x i32> %.splatinsert, <8 x i32> poison, <8 x i32> zeroinitializer
  %275 = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %.splat
  %276 = getelementptr float, ptr %84, i64 %tail6
  %277 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %276, i32 4, <8 x i1> %275, <8 x float> zeroinitializer)
  %278 = getelementptr float, ptr %86, i64 %tail6
  %279 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %278, i32 4, <8 x i1> %275, <8 x float> zeroinitializer)
  %280 = fmul <8 x float> %277, %279
  %281 = getelementptr float, ptr %88, i64 %tail6
  %282 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %281, i32 4, <8 x i1> %275, <8 x float> zeroinitializer)
  %283 = getelementptr float, ptr %90, i64 %tail6
  %284 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr %283, i32 4, <8 x i1> %275, <8 x float> zeroinitializer)
  %285 = fmul <8 x float> %282, %284
  %286 = fadd <8 x float> %280, %285
  %287 = fmul <8 x float> %282, %279
  %288 = fmul <8 x float> %277, %284
  %289 = fsub <8 x float> %287, %288
  %290 = getelementptr float, ptr %92, i64 %tail6
  call void @llvm.masked.store.v8f32.p0(<8 x float> %286, ptr %290, i32 4, <8 x i1> %275)
  %291 = getelementptr float, ptr %94, i64 %tail6
  call void @llvm.masked.store.v8f32.p0(<8 x float> %289, ptr %291, i32 4, <8 x i1> %275)
  %292 = add i64 %tail6, 8
  br label %tail.head

tail.end:                                         ; preds = %tail.head
  %293 = add i64 %73, 1
  %294 = icmp eq i64 %293, %66
  %295 = select i1 %294, i64 0, i64 %293
  %296 = zext i1 %294 to i64
  %297 = add i64 %72, %296
  %298 = icmp eq i64 %297, %8
  %299 = select i1 %298, i64 0, i64 %297
  %300 = zext i1 %298 to i64
  %301 = add i64 %71, %300
  %302 = add i64 %task1, 1
  br label %task.head

task.end:                                         ; preds = %task.head
  br i1 %64, label %then7, label %endif8

then7:                                            ; preds = %task.end
  call void @llvm.x86.sse.sfence()
  br label %endif8

endif8:                                           ; preds = %task.end, %then7
  br label %done
}

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.smin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind speculatable willreturn memory(none)
declare i64 @llvm.umin.i64(i64, i64) #1

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: read)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr nocapture, i32 immarg, <8 x i1>, <8 x float>) #2

; Function Attrs: nocallback nofree nosync nounwind willreturn memory(argmem: write)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr nocapture, i32 immarg, <8 x i1>) #3

; Function Attrs: nounwind
declare void @llvm.x86.sse.sfence() #0

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }
attributes #2 = { nocallback nofree nosync nounwind willreturn memory(argmem: read) }
attributes #3 = { nocallback nofree nosync nounwind willreturn memory(argmem: write) }

!0 = !{i32 1}
